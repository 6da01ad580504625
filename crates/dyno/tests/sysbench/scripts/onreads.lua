-- Built on the module that the OLTP tests share: their options, tables and statements, in another mixture.

require("oltp_common")

sysbench.cmdline.options.hot_rows = {"Rows that are read again and again", 5}

function prepare_statements()
  if not sysbench.opt.skip_trx then
    prepare_begin()
    prepare_commit()
  end
  prepare_point_selects()
  prepare_order_ranges()
  prepare_non_index_updates()
end

function event()
  if not sysbench.opt.skip_trx then
    begin()
  end
  execute_point_selects()
  for id = 1, sysbench.opt.hot_rows do
    con:query("SELECT k FROM sbtest1 WHERE id = " .. id)
  end
  execute_order_ranges()
  execute_non_index_updates()
  if not sysbench.opt.skip_trx then
    commit()
  end
end
