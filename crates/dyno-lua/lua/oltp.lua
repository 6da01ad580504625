-- The transactions of sysbench 0.5: statements as text, one table for each event.

local opt = {}

-- Options come as globals, as text, because nothing declares them.
local function number(name, default)
  return tonumber(_G["oltp_" .. name]) or default
end

local function switch(name, default)
  local value = _G["oltp_" .. name]
  if value == nil or value == "" and default then
    return default
  end
  return value ~= "off" and value ~= "false" and value ~= "0"
end

local function digits(groups)
  return string.rep("###########-", groups - 1) .. "###########"
end

local C, PAD = digits(10), digits(5)

function set_vars()
  opt.table_size = number("table_size", 10000)
  opt.tables_count = number("tables_count", 1)
  opt.range_size = number("range_size", 100)
  opt.point_selects = number("point_selects", 10)
  opt.simple_ranges = number("simple_ranges", 1)
  opt.sum_ranges = number("sum_ranges", 1)
  opt.order_ranges = number("order_ranges", 1)
  opt.distinct_ranges = number("distinct_ranges", 1)
  opt.index_updates = number("index_updates", 1)
  opt.non_index_updates = number("non_index_updates", 1)
  opt.delete_inserts = number("delete_inserts", 1)
  opt.range_selects = switch("range_selects", true)
  opt.auto_inc = switch("auto_inc", true)
  opt.read_only = switch("read_only", false)
  opt.write_only = switch("write_only", false)
  opt.skip_trx = switch("skip_trx", false)
  opt.secondary = switch("secondary", false)
end

-- Has dyno make and load the rows. Gives false where it cannot, as in events.
local function fill(name)
  local columns = {{"id", "row"}, {"k", "number"}, {"c", C}, {"pad", PAD}}
  return sysbench.sql.driver():fill(name, opt.table_size, columns, tonumber(num_threads))
end

-- The same by statements.
local function insert_rows(name)
  local columns = opt.auto_inc and "k, c, pad" or "id, k, c, pad"
  db_bulk_insert_init(string.format("INSERT INTO %s(%s) VALUES", name, columns))
  for row = 1, opt.table_size do
    local k, c, pad = sb_rand(1, opt.table_size), sb_rand_str(C), sb_rand_str(PAD)
    if opt.auto_inc then
      db_bulk_insert_next(string.format("(%d, '%s', '%s')", k, c, pad))
    else
      db_bulk_insert_next(string.format("(%d, %d, '%s', '%s')", row, k, c, pad))
    end
  end
  db_bulk_insert_done()
end

local function create_table(number)
  local name = "sbtest" .. number
  local id, behind
  print(string.format("Creating table '%s'...", name))
  if db_driver == "pgsql" then
    id, behind = opt.auto_inc and "SERIAL NOT NULL" or "INTEGER NOT NULL", ""
  else
    id = "INTEGER UNSIGNED NOT NULL" .. (opt.auto_inc and " AUTO_INCREMENT" or "")
    behind = string.format("/*! ENGINE = %s MAX_ROWS = %d */", mysql_table_engine or "innodb", myisam_max_rows or 1000000)
  end
  local unsigned = db_driver == "pgsql" and "" or " UNSIGNED"
  db_query(string.format(
    "CREATE TABLE %s (\nid %s,\nk INTEGER%s DEFAULT '0' NOT NULL,\nc CHAR(120) DEFAULT '' NOT NULL,\n"
      .. "pad CHAR(60) DEFAULT '' NOT NULL,\n%s (id)\n) %s",
    name, id, unsigned, opt.secondary and "KEY xid" or "PRIMARY KEY", behind))

  print(string.format("Inserting %d records into '%s'", opt.table_size, name))
  if not fill(name) then
    insert_rows(name)
  elseif db_driver == "pgsql" and opt.auto_inc and opt.table_size > 0 then
    -- It has not given the numbers itself.
    db_query(string.format("SELECT setval(pg_get_serial_sequence('%s', 'id'), %d)", name, opt.table_size))
  end

  print(string.format("Creating secondary indexes on '%s'...", name))
  db_query(string.format("CREATE INDEX k_%d on %s(k)", number, name))
end

function prepare()
  set_vars()
  db_connect()
  for number = 1, opt.tables_count do
    create_table(number)
  end
  return 0
end

function cleanup()
  set_vars()
  db_connect()
  for number = 1, opt.tables_count do
    print(string.format("Dropping table 'sbtest%d'...", number))
    db_query("DROP TABLE IF EXISTS sbtest" .. number)
  end
end

function thread_init()
  set_vars()
  db_connect()
  if (db_driver == "mysql" or db_driver == nil) and mysql_table_engine == "myisam" then
    opening, closing = "LOCK TABLES sbtest WRITE", "UNLOCK TABLES"
  else
    opening, closing = "BEGIN", "COMMIT"
  end
end

local function any_id()
  return sb_rand(1, opt.table_size)
end

local function ranges(number, text, name)
  for _ = 1, number do
    local first = any_id()
    db_query(string.format(text, name, first, first + opt.range_size - 1))
  end
end

function event()
  local name = "sbtest" .. sb_rand_uniform(1, opt.tables_count)

  if not opt.skip_trx then
    db_query(opening)
  end

  if not opt.write_only then
    for _ = 1, opt.point_selects do
      db_query(string.format("SELECT c FROM %s WHERE id=%d", name, any_id()))
    end
    if opt.range_selects then
      ranges(opt.simple_ranges, "SELECT c FROM %s WHERE id BETWEEN %d AND %d", name)
      ranges(opt.sum_ranges, "SELECT SUM(K) FROM %s WHERE id BETWEEN %d AND %d", name)
      ranges(opt.order_ranges, "SELECT c FROM %s WHERE id BETWEEN %d AND %d ORDER BY c", name)
      ranges(opt.distinct_ranges, "SELECT DISTINCT c FROM %s WHERE id BETWEEN %d AND %d ORDER BY c", name)
    end
  end

  if not opt.read_only then
    for _ = 1, opt.index_updates do
      db_query(string.format("UPDATE %s SET k=k+1 WHERE id=%d", name, any_id()))
    end
    for _ = 1, opt.non_index_updates do
      local c = sb_rand_str(C)
      db_query(string.format("UPDATE %s SET c='%s' WHERE id=%d", name, c, any_id()))
    end
    for _ = 1, opt.delete_inserts do
      local id = any_id()
      db_query(string.format("DELETE FROM %s WHERE id=%d", name, id))
      local k, c, pad = any_id(), sb_rand_str(C), sb_rand_str(PAD)
      db_query(string.format("INSERT INTO %s (id, k, c, pad) VALUES (%d, %d, '%s', '%s')", name, id, k, c, pad))
    end
  end

  if not opt.skip_trx then
    db_query(closing)
  end
end

-- For parallel_prepare, which makes these tables with all clients.
oltp_create_table = create_table
oltp_options = opt
