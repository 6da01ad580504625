-- An insert.

require("oltp_common")

function prepare_statements()
end

-- Numbers that are drawn could be those of rows that stand there, so then tables begin empty.
sysbench.cmdline.commands.prepare = {function()
  if not sysbench.opt.auto_inc then
    sysbench.opt.table_size = 0
  end
  cmd_prepare()
end, sysbench.cmdline.PARALLEL_COMMAND}

function event()
  local name = "sbtest" .. sysbench.rand.uniform(1, sysbench.opt.tables)
  local k = sysbench.rand.default(1, sysbench.opt.table_size)
  local c, pad = get_c_value(), get_pad_value()
  if drv:name() == "pgsql" and sysbench.opt.auto_inc then
    con:query(string.format("INSERT INTO %s (k, c, pad) VALUES (%d, '%s', '%s')", name, k, c, pad))
  else
    -- The server chooses the number of a row that has 0.
    local id = 0
    if not sysbench.opt.auto_inc then
      -- From 32 bits without sign to an INTEGER.
      id = sysbench.rand.unique() - 2147483648
    end
    con:query(string.format("INSERT INTO %s (id, k, c, pad) VALUES (%d, %d, '%s', '%s')", name, id, k, c, pad))
  end
  check_reconnect()
end
