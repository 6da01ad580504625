-- The tables of sysbench 0.5's transactions, each client making its share of them: run it with as many events as
-- clients.

require("oltp")

function thread_init()
  set_vars()
  db_connect()
end

function event()
  local clients = tonumber(sysbench.opt.threads) or 1
  for number = sysbench.tid + 1, oltp_options.tables_count, clients do
    oltp_create_table(number)
  end
  return 1
end
