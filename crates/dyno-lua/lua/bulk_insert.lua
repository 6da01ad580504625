-- Inserts of many rows at once, each client into a table of its own.

local row = 0

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

local function name(number)
  return "sbtest" .. number
end

function prepare()
  local connection = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.threads do
    print(string.format("Creating table '%s'...", name(number)))
    connection:query(string.format(
      "CREATE TABLE IF NOT EXISTS %s (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))",
      name(number)))
  end
end

function event()
  if row == 0 then
    con:bulk_insert_init(string.format("INSERT INTO %s VALUES", name(sysbench.tid + 1)))
  end
  row = row + 1
  con:bulk_insert_next(string.format("(%d, %d)", row, row))
end

function thread_done()
  if row > 0 then
    con:bulk_insert_done()
  end
  con:disconnect()
end

function cleanup()
  local connection = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.threads do
    print(string.format("Dropping table '%s'...", name(number)))
    connection:query("DROP TABLE IF EXISTS " .. name(number))
  end
end
