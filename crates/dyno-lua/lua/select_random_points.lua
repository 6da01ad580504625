-- Rows of several values of a column with an index.

require("oltp_common")

sysbench.cmdline.options.random_points = {"values in a query", 10}

-- As sysbench, which makes several tables here all the same.
local drop_all = cleanup
function cleanup()
  assert(sysbench.opt.tables == 1, "this benchmark does not support --tables > 1")
  drop_all()
end

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  local places = string.rep("?, ", sysbench.opt.random_points - 1) .. "?"
  stmt = con:prepare(string.format("SELECT id, k, c, pad\n          FROM sbtest1\n          WHERE k IN (%s)\n        ", places))
  values = {}
  for place = 1, sysbench.opt.random_points do
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
  for _, value in ipairs(values) do
    value:set(sysbench.rand.default(first, last))
  end
  stmt:execute()
end
