-- The globals of 0.5, which later versions still have. They share one connection, made when it is needed first.

local host = ...
local rand, sql = sysbench.rand, sysbench.sql
local connection

thread_id = host.tid
test = host.script_path
db_driver = host.driver

local function connected()
   if not connection then
      connection = sql.driver():connect()
   end
   return connection
end

function db_connect()
   if connection then
      connection:disconnect()
      connection = nil
   end
   connected()
end

function db_disconnect()
   if connection then
      connection:disconnect()
      connection = nil
   end
end

function db_query(query)
   return connected():query(query)
end

function db_bulk_insert_init(query)
   return connected():bulk_insert_init(query)
end

function db_bulk_insert_next(values)
   return connected():bulk_insert_next(values)
end

function db_bulk_insert_done()
   return connected():bulk_insert_done()
end

function db_prepare(query)
   return connected():prepare(query)
end

-- Values are read from the table when the statement is executed.
function db_bind_param(statement, values)
   statement.values = values
   local bound = {}
   for i, value in ipairs(values) do
      bound[i] = type(value) == 'number' and statement:bind_create(sql.type.BIGINT)
         or statement:bind_create(sql.type.VARCHAR, 65535)
   end
   statement:bind_param(unpack(bound))
end

function db_bind_result(statement, values)
   statement.targets = values
end

function db_execute(statement)
   if statement.values then
      for i, parameter in ipairs(statement.bound) do
         parameter:set(statement.values[i])
      end
   end
   return statement:execute()
end

function db_store_results(rs)
   return rs
end

function db_free_results(rs)
   if rs then
      rs:free()
   end
end

function db_close(statement)
   return statement:close()
end

sb_rand = rand.default
sb_rand_uniform = rand.uniform
sb_rand_gaussian = rand.gaussian
sb_rand_special = rand.special
sb_rand_str = rand.string

function sb_rand_uniq(a, b)
   return a + rand.unique() % (b - a + 1)
end

function sb_rnd()
   local _, low = host.halves()
   return low
end

DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = 0, 1, 2
DB_ERROR_DEADLOCK, DB_ERROR_RECONNECTED = 1, 1
