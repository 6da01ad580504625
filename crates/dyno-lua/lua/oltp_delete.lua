-- A delete by id.

require("oltp_common")

function prepare_statements()
  prepare_deletes()
end

function event()
  local number = sysbench.rand.uniform(1, sysbench.opt.tables)
  param[number].deletes[1]:set(sysbench.rand.default(1, sysbench.opt.table_size))
  stmt[number].deletes:execute()
  check_reconnect()
end
