-- What the OLTP workloads share: options, tables, and the groups of statements that transactions are made of.
-- The names of functions are those that scripts built on sysbench's module of this name call and replace.

if sysbench.cmdline.command == nil then
  error("Command is required. Supported commands: prepare, prewarm, run, cleanup, help")
end

-- Groups of eleven digits with dashes between them.
local function digits(groups)
  return string.rep("###########-", groups - 1) .. "###########"
end

local C = digits(10)
local PAD = digits(5)

function get_c_value()
  return sysbench.rand.string(C)
end

function get_pad_value()
  return sysbench.rand.string(PAD)
end

sysbench.cmdline.options = {
  table_size = {"rows of each table", 10000},
  range_size = {"rows of a range", 100},
  tables = {"tables", 1},
  point_selects = {"selects by id in a transaction", 10},
  simple_ranges = {"selects of a range in a transaction", 1},
  sum_ranges = {"sums over a range in a transaction", 1},
  order_ranges = {"sorted selects of a range in a transaction", 1},
  distinct_ranges = {"selects of what is distinct in a range in a transaction", 1},
  index_updates = {"updates of a column with an index in a transaction", 1},
  non_index_updates = {"updates of a column without one in a transaction", 1},
  delete_inserts = {"pairs of a delete and an insert of the same row in a transaction", 1},
  range_selects = {"whether there are selects of ranges at all", true},
  auto_inc = {"whether the server numbers the rows", true},
  create_table_options = {"what to write behind the definition of a table", ""},
  skip_trx = {"each statement by itself instead of transactions", false},
  secondary = {"an ordinary index on id instead of the primary key", false},
  create_secondary = {"an index on k", true},
  reconnect = {"connect anew after so many events; 0: never", 0},
  mysql_storage_engine = {"storage engine, of MySQL", "innodb"},
  pgsql_variant = {"'redshift' for that kind of PostgreSQL: no indexes on k, no deletes and inserts"},
}

local kinds = sysbench.sql.type

-- Statements by group, with the types of their parameters; %u stands for the table.
local groups = {
  point_selects = {"SELECT c FROM sbtest%u WHERE id=?", kinds.INT},
  simple_ranges = {"SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ?", kinds.INT, kinds.INT},
  sum_ranges = {"SELECT SUM(k) FROM sbtest%u WHERE id BETWEEN ? AND ?", kinds.INT, kinds.INT},
  order_ranges = {"SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", kinds.INT, kinds.INT},
  distinct_ranges = {"SELECT DISTINCT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", kinds.INT, kinds.INT},
  index_updates = {"UPDATE sbtest%u SET k=k+1 WHERE id=?", kinds.INT},
  non_index_updates = {"UPDATE sbtest%u SET c=? WHERE id=?", {kinds.CHAR, 120}, kinds.INT},
  deletes = {"DELETE FROM sbtest%u WHERE id=?", kinds.INT},
  inserts = {
    "INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)", kinds.INT, kinds.INT, {kinds.CHAR, 120}, {kinds.CHAR, 60},
  },
}

local function any_table()
  return sysbench.rand.uniform(1, sysbench.opt.tables)
end

local function any_id()
  return sysbench.rand.default(1, sysbench.opt.table_size)
end

-- Prepares a group for each table.
local function prepare_group(name)
  local group = groups[name]
  for number = 1, sysbench.opt.tables do
    local statement = con:prepare(string.format(group[1], number))
    local values = {}
    for place = 2, #group do
      local kind = group[place]
      if type(kind) == "table" then
        values[place - 1] = statement:bind_create(kind[1], kind[2])
      else
        values[place - 1] = statement:bind_create(kind)
      end
    end
    if #values > 0 then
      statement:bind_param(unpack(values))
    end
    stmt[number][name] = statement
    param[number][name] = values
  end
end

function prepare_begin()
  stmt.begin = con:prepare("BEGIN")
end

function prepare_commit()
  stmt.commit = con:prepare("COMMIT")
end

function begin()
  stmt.begin:execute()
end

function commit()
  stmt.commit:execute()
end

for _, name in ipairs({
  "point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges", "index_updates",
  "non_index_updates",
}) do
  _G["prepare_" .. name] = function() prepare_group(name) end
end

function prepare_deletes()
  prepare_group("deletes")
end

function prepare_delete_inserts()
  prepare_deletes()
  prepare_group("inserts")
end

function execute_point_selects()
  local number = any_table()
  local statement, values = stmt[number].point_selects, param[number].point_selects
  for _ = 1, sysbench.opt.point_selects do
    values[1]:set(any_id())
    statement:execute()
  end
end

local function execute_range(name)
  local number = any_table()
  local values = param[number][name]
  for _ = 1, sysbench.opt[name] do
    local id = any_id()
    values[1]:set(id)
    values[2]:set(id + sysbench.opt.range_size - 1)
    stmt[number][name]:execute()
  end
end

for _, name in ipairs({"simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"}) do
  _G["execute_" .. name] = function() execute_range(name) end
end

function execute_index_updates()
  local number = any_table()
  for _ = 1, sysbench.opt.index_updates do
    param[number].index_updates[1]:set(any_id())
    stmt[number].index_updates:execute()
  end
end

function execute_non_index_updates()
  local number = any_table()
  local values = param[number].non_index_updates
  for _ = 1, sysbench.opt.non_index_updates do
    values[1]:set_rand_str(C)
    values[2]:set(any_id())
    stmt[number].non_index_updates:execute()
  end
end

function execute_delete_inserts()
  local number = any_table()
  local values = param[number].inserts
  for _ = 1, sysbench.opt.delete_inserts do
    local id, k = any_id(), any_id()
    param[number].deletes[1]:set(id)
    values[1]:set(id)
    values[2]:set(k)
    values[3]:set_rand_str(C)
    values[4]:set_rand_str(PAD)
    stmt[number].deletes:execute()
    stmt[number].inserts:execute()
  end
end

-- Prepares everything on the connection as it now is.
local function prepare_all()
  stmt, param = {}, {}
  for number = 1, sysbench.opt.tables do
    stmt[number], param[number] = {}, {}
  end
  prepare_statements()
end

local function close()
  for key, each in pairs(stmt) do
    if type(key) == "number" then
      for _, statement in pairs(each) do
        statement:close()
      end
    else
      each:close()
    end
  end
end

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  prepare_all()
end

function thread_done()
  close()
  con:disconnect()
end

-- Ends an event; counts it towards `reconnect`.
local events = 0

function check_reconnect()
  if sysbench.opt.reconnect > 0 then
    events = events + 1
    if events % sysbench.opt.reconnect == 0 then
      close()
      con:reconnect()
      prepare_all()
    end
  end
end

-- The definition of `id`, and what is written behind the table's.
local function dialect(driver)
  local opt = sysbench.opt
  local id, behind
  if driver == "mysql" then
    id = "INTEGER NOT NULL" .. (opt.auto_inc and " AUTO_INCREMENT" or "")
    behind = "/*! ENGINE = " .. opt.mysql_storage_engine .. " */"
  elseif driver == "pgsql" then
    if opt.pgsql_variant == "redshift" then
      opt.create_secondary, opt.delete_inserts = false, 0
    end
    if not opt.auto_inc then
      id = "INTEGER NOT NULL"
    elseif opt.pgsql_variant == "redshift" then
      id = "INTEGER IDENTITY(1,1)"
    else
      id = "SERIAL"
    end
    behind = ""
  else
    error("Unsupported database driver:" .. driver)
  end
  return id, behind
end

-- What makes rows, unless a script has put something else in its place.
local own = {get_c_value, get_pad_value, sysbench.rand.default}

-- How many connections fill a table at once, so that all clients together have one each: those for which there is no
-- table of their own help with the others'.
local function connections()
  local threads, tables = sysbench.opt.threads, sysbench.opt.tables
  if tables >= threads then
    return 1
  end
  local some = math.floor(threads / tables)
  return sysbench.tid % threads < threads % tables and some + 1 or some
end

-- Has dyno make and load the rows. Gives false where it cannot.
local function fill(drv, name)
  local opt = sysbench.opt
  if get_c_value ~= own[1] or get_pad_value ~= own[2] or sysbench.rand.default ~= own[3]
    or opt.pgsql_variant == "redshift" then
    return false
  end
  local columns = {{"id", "row"}, {"k", "number"}, {"c", C}, {"pad", PAD}}
  return drv:fill(name, opt.table_size, columns, connections())
end

-- The same by statements.
local function insert_rows(con, name)
  local opt = sysbench.opt
  local columns = opt.auto_inc and "k, c, pad" or "id, k, c, pad"
  con:bulk_insert_init(string.format("INSERT INTO %s(%s) VALUES", name, columns))
  for row = 1, opt.table_size do
    local k, c, pad = sysbench.rand.default(1, opt.table_size), get_c_value(), get_pad_value()
    if opt.auto_inc then
      con:bulk_insert_next(string.format("(%d, '%s', '%s')", k, c, pad))
    else
      con:bulk_insert_next(string.format("(%d, %d, '%s', '%s')", row, k, c, pad))
    end
  end
  con:bulk_insert_done()
end

function create_table(drv, con, number)
  local opt = sysbench.opt
  local id, behind = dialect(drv:name())
  local name = "sbtest" .. number
  local key = opt.secondary and "KEY xid" or "PRIMARY KEY"

  print(string.format("Creating table '%s'...", name))
  con:query(string.format(
    "CREATE TABLE %s(\n  id %s,\n  k INTEGER DEFAULT '0' NOT NULL,\n  c CHAR(120) DEFAULT '' NOT NULL,\n"
      .. "  pad CHAR(60) DEFAULT '' NOT NULL,\n  %s (id)\n) %s %s",
    name, id, key, behind, opt.create_table_options))

  if opt.table_size > 0 then
    print(string.format("Inserting %d records into '%s'", opt.table_size, name))
  end
  if not fill(drv, name) then
    insert_rows(con, name)
  elseif drv:name() == "pgsql" and opt.auto_inc and opt.table_size > 0 then
    -- It has not given the numbers itself.
    con:query(string.format("SELECT setval(pg_get_serial_sequence('%s', 'id'), %d)", name, opt.table_size))
  end

  if opt.create_secondary then
    print(string.format("Creating a secondary index on '%s'...", name))
    con:query(string.format("CREATE INDEX k_%d ON %s(k)", number, name))
  end
end

-- Does something for each of this client's tables.
local function for_own_tables(act)
  local driver = sysbench.sql.driver()
  local connection = driver:connect()
  for number = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
    act(driver, connection, number)
  end
end

function cmd_prepare()
  for_own_tables(create_table)
end

-- Has the server read tables and indexes.
function cmd_prewarm()
  for_own_tables(function(driver, connection, number)
    assert(driver:name() == "mysql", "prewarm is currently MySQL only")
    local name = "sbtest" .. number
    print("Prewarming table " .. name)
    connection:query("SET tmp_table_size=2*1024*1024*1024")
    connection:query("SET max_heap_table_size=2*1024*1024*1024")
    connection:query("ANALYZE TABLE " .. name)
    connection:query(string.format(
      "SELECT AVG(id) FROM (SELECT * FROM %s FORCE KEY (PRIMARY) LIMIT %u) t", name, sysbench.opt.table_size))
    connection:query(string.format(
      "SELECT COUNT(*) FROM (SELECT * FROM %s WHERE k LIKE '%%0%%' LIMIT %u) t", name, sysbench.opt.table_size))
  end)
end

sysbench.cmdline.commands = {
  prepare = {cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND},
  warmup = {cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND},
  prewarm = {cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND},
}

function cleanup()
  local connection = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.tables do
    print(string.format("Dropping table 'sbtest%d'...", number))
    connection:query("DROP TABLE IF EXISTS sbtest" .. number)
  end
end

-- The client's errors of a connection that is gone.
local LOST = {[2006] = true, [2011] = true, [2013] = true, [2055] = true}

-- What a connection needs again when it is a new one.
function sysbench.hooks.before_restart_event(errdesc)
  if LOST[errdesc.sql_errno] then
    close()
    prepare_all()
  end
end
