-- Commands beside the usual ones, one of them executed by all threads.

sysbench.cmdline.options = {
  rows = {"Rows for each thread", 5},
}

local function each_row(act)
  for i = 1, sysbench.opt.rows do
    act(sysbench.tid * sysbench.opt.rows + i)
  end
end

local function cmd_load()
  local con = sysbench.sql.driver():connect()
  con:bulk_insert_init("INSERT INTO counters (id, n) VALUES")
  each_row(function(id)
    con:bulk_insert_next(string.format("(%d, %d)", id, id * id))
  end)
  con:bulk_insert_done()
  con:disconnect()
end

local function cmd_check()
  local con = sysbench.sql.driver():connect()
  local count, sum = con:query_row("SELECT COUNT(*), SUM(n) FROM counters")
  print("rows", count, "sum", sum)
  if tonumber(count) == 0 then
    error("nothing is loaded", 0)
  end
end

local function cmd_explain()
  print("command", sysbench.cmdline.command, "with", #sysbench.cmdline.argv > 1)
end

sysbench.cmdline.commands = {
  load = {cmd_load, sysbench.cmdline.PARALLEL_COMMAND},
  check = {cmd_check},
  explain = {cmd_explain},
}

function help()
  print("load, check or explain")
end

function event()
end
