-- Rows of several ranges of a column with an index.

require("oltp_common")

sysbench.cmdline.options.number_of_ranges = {"ranges in a query", 10}
sysbench.cmdline.options.delta = {"how far a range reaches", 5}

-- As sysbench, which makes several tables here all the same.
local drop_all = cleanup
function cleanup()
  assert(sysbench.opt.tables == 1, "this benchmark does not support --tables > 1")
  drop_all()
end

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  local number = sysbench.opt.number_of_ranges
  local ranges = string.rep("k BETWEEN ? AND ? OR ", number - 1) .. "k BETWEEN ? AND ?"
  stmt = con:prepare(string.format("SELECT count(k)\n          FROM sbtest1\n          WHERE %s\n        ", ranges))
  values = {}
  for place = 1, 2 * number do
    values[place] = stmt:bind_create(sysbench.sql.type.INT)
  end
  stmt:bind_param(unpack(values))
  -- Each client has a part of the table.
  local part = sysbench.opt.table_size / sysbench.opt.threads
  first, last = math.floor(part * sysbench.tid), math.floor(part * (sysbench.tid + 1))
end

function thread_done()
  stmt:close()
  con:disconnect()
end

function event()
  for place = 1, #values, 2 do
    local k = sysbench.rand.default(first, last)
    values[place]:set(k)
    values[place + 1]:set(k + sysbench.opt.delta)
  end
  stmt:execute()
end
