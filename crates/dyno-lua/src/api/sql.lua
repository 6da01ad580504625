-- Databases: drivers, connections, statements, their parameters, and results.

local host = ...
local ask, op, say = host.ask, host.op, host.say
-- What is asked for with each execution goes to the host directly.
local yield, mark, EXECUTE = coroutine.yield, host.mark, op.execute
local setmetatable, type, tonumber, error, format = setmetatable, type, tonumber, error, string.format
local concat, floor, unpack = table.concat, math.floor, unpack
local hooks = sysbench.hooks
local RESTART_EVENT = sysbench.error.RESTART_EVENT
local sql = sysbench.sql

sql.type = {
   NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6,
   TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}
sql.error = { NONE = 0, IGNORABLE = 1, FATAL = 2 }

local Driver, Connection, Statement, Parameter, Result = {}, {}, {}, {}, {}
Driver.__index = Driver
Connection.__index = Connection
Statement.__index = Statement
Parameter.__index = Parameter
Result.__index = Result
Driver.__tostring = function() return '<sql_driver>' end
Connection.__tostring = function() return '<sql_connection>' end
Statement.__tostring = function() return '<sql_statement>' end
Parameter.__tostring = function() return '<sql_param>' end
Result.__tostring = function() return '<sql_result>' end

-- How many bytes of rows are inserted at once.
local MOST_BULK = 512 * 1024

local drivers = {}

function sql.driver(name)
   name = name or host.driver
   if name ~= host.driver then
      say('fatal', format("invalid database driver name: '%s'", tostring(name)))
      error('failed to initialize the DB driver', 2)
   end
   local driver = drivers[name] or setmetatable({ driver_name = name }, Driver)
   drivers[name] = driver
   return driver
end

function Driver:name()
   return self.driver_name
end

function Driver:connect()
   local ok, id = ask(op.connect)
   if not ok then
      error('connection creation failed', 2)
   end
   return setmetatable({ id = id, error = 0, sql_errno = 0, sql_state = '', sql_errmsg = '' }, Connection)
end

-- Not in sysbench: has the host make the rows of a table, over connections of its own. Columns are pairs of a name and
-- 'row', a template as in sysbench.rand.string, or 'number' for what sysbench.rand.default gives from `first` to `last`.
-- Gives false where that cannot be done, as in events.
function Driver:fill(name, rows, columns, connections, first, last)
   local flat = {}
   for i = 1, #columns do
      flat[2 * i - 1], flat[2 * i] = columns[i][1], columns[i][2]
   end
   local ok, errno, state, message = ask(op.fill, name, rows, connections or 1, first or 1, last or rows, unpack(flat))
   if errno then
      error(format("SQL error, errno = %d, state = '%s': %s", errno, state, message), 2)
   end
   return ok
end

-- A request failed: the event begins again, or the script ends.
local function fail(connection, query, errno, state, message, ignorable)
   connection.sql_errno, connection.sql_state, connection.sql_errmsg = errno, state, message
   local about = {
      connection = connection,
      query = query,
      sql_errno = errno,
      sql_state = state,
      sql_errmsg = message,
   }
   if not ignorable and hooks.sql_error_ignorable then
      ignorable = hooks.sql_error_ignorable(about)
      if ignorable then
         ask(op.ignored)
      end
   end
   if ignorable then
      connection.error = 1
      about.errcode = RESTART_EVENT
      error(about, 0)
   end
   connection.error = 2
   error(format("SQL error, errno = %d, state = '%s': %s", errno, state, message), 3)
end

-- Results of which nothing is kept but how many rows they had: all of as many rows are one. So statements leave nothing
-- behind that has to be collected.
local counted = {}
local MOST_COUNTED = 128

local function result(rows, fields, kept)
   rows, fields = rows or 0, fields or 0
   if kept or fields > 0 or rows > MOST_COUNTED then
      return setmetatable({ nrows = rows, nfields = fields, rows = kept, at = 0 }, Result)
   end
   local known = counted[rows]
   if not known then
      known = setmetatable({ nrows = rows, nfields = 0, at = 0 }, Result)
      counted[rows] = known
   end
   return known
end

local function usable(connection)
   if not connection.id then
      error('the connection is closed', 3)
   end
   return connection.id
end

-- What is asked must be a text, as in sysbench, which would take the length of anything else.
local function check_text(query, name)
   if type(query) ~= 'string' then
      error(format("%s() wants a statement as a string, not %s", name, query == nil and 'nil' or 'a ' .. type(query)), 3)
   end
end

function Connection:query(query)
   local id = usable(self)
   check_text(query, 'query')
   local ok, a, b, c, d = ask(op.query, id, query, false)
   if not ok then
      fail(self, query, a, b, c, d)
   end
   self.further, self.taken = d, 0
   return result(a, b, c)
end

function Connection:query_row(query)
   local id = usable(self)
   check_text(query, 'query_row')
   local ok, a, b, c, d = ask(op.query, id, query, true)
   if not ok then
      fail(self, query, a, b, c, d)
   end
   if c and a > 0 then
      return unpack(c[1], 1, b)
   end
   return nil
end

function Connection:disconnect()
   if self.id then
      ask(op.disconnect, self.id)
      self.id = nil
   end
   return 0
end

function Connection:reconnect()
   local ok, id = ask(op.reconnect, self.id)
   if not ok then
      error('reconnection failed', 2)
   end
   self.id = id
   return 0
end

function Connection:check_error(rs, query)
   if self.error ~= 0 then
      fail(self, query, self.sql_errno, self.sql_state, self.sql_errmsg, self.error == 1)
   end
   return rs
end

local function execute(self)
   local bound = self.bound
   local first, second, third = bound[1], bound[2], bound[3]
   local ok, a, b, c, d
   if third then
      local count, values = #bound, {}
      for i = 1, count do
         values[i] = bound[i].value
      end
      ok, a, b, c, d = yield(mark, EXECUTE, self.id, count, unpack(values, 1, count))
   elseif second then
      ok, a, b, c, d = yield(mark, EXECUTE, self.id, 2, first.value, second.value)
   elseif first then
      ok, a, b, c, d = yield(mark, EXECUTE, self.id, 1, first.value)
   else
      ok, a, b, c, d = yield(mark, EXECUTE, self.id, 0)
   end
   local connection = self.connection
   if not ok then
      fail(connection, '<prepared statement>', a, b, c, d)
   end
   connection.further, connection.taken = d, 0
   return result(a, b, c)
end

function Connection:prepare(query)
   local id = usable(self)
   check_text(query, 'prepare')
   local ok, a = ask(op.prepare, id, query)
   if not ok then
      error('SQL API error', 2)
   end
   return setmetatable({ connection = self, id = a, query = query, bound = {}, execute = execute }, Statement)
end

function Connection:bulk_insert_init(query)
   usable(self)
   check_text(query, 'bulk_insert_init')
   self.bulk = { query = query, rows = {}, count = 0, size = 0 }
   return 0
end

local function insert(connection, bulk)
   if bulk.count == 0 then
      return
   end
   local query = bulk.query .. concat(bulk.rows, ',', 1, bulk.count)
   bulk.rows, bulk.count, bulk.size = {}, 0, 0
   local ok, a, b, c, d = ask(op.query, usable(connection), query, false)
   return not ok, query, a, b, c, d
end

function Connection:bulk_insert_next(values)
   local bulk = self.bulk
   if not bulk then
      error('bulk_insert_next() without bulk_insert_init()', 2)
   end
   if bulk.size + #values + #bulk.query + 1 >= MOST_BULK then
      local failed, query, a, b, c, d = insert(self, bulk)
      if failed then
         fail(self, query, a, b, c, d)
      end
   end
   bulk.count = bulk.count + 1
   bulk.rows[bulk.count] = values
   bulk.size = bulk.size + #values + 1
   return 0
end

function Connection:bulk_insert_done()
   local bulk = self.bulk
   self.bulk = nil
   if bulk then
      local failed, query, a, b, c, d = insert(self, bulk)
      if failed then
         fail(self, query, a, b, c, d)
      end
   end
   return 0
end

-- The kinds of parameters set their values each in a way of its own, which stands in the parameter itself: it is
-- looked up with each value of each statement.
local function set_whole(self, value)
   local number = tonumber(value)
   if not number then
      if value ~= nil then
         error('the value of this parameter must be a number', 2)
      end
   elseif number % 1 ~= 0 then
      number = number < 0 and -floor(-number) or floor(number)
   end
   self.value = number
end

local function set_fraction(self, value)
   local number = tonumber(value)
   if not number and value ~= nil then
      error('the value of this parameter must be a number', 2)
   end
   self.value = number
end

local function set_text(self, value)
   if value ~= nil then
      value = tostring(value)
      if #value > (self.length or #value) then
         value = value:sub(1, self.length)
      end
   end
   self.value = value
end

local TEXTS = { [7] = true, [8] = true, [9] = true, [10] = true, [11] = true, [12] = true }
local FRACTIONS = { [5] = true, [6] = true }

function Statement:bind_create(kind, length)
   if type(kind) ~= 'number' then
      error('the type of a parameter must be one of sysbench.sql.type', 2)
   end
   if TEXTS[kind] and kind > 10 and not (tonumber(length) and length > 0) then
      error('string parameters must have a length', 2)
   end
   if TEXTS[kind] then
      return setmetatable({ set = set_text, value = nil, text = true, length = length }, Parameter)
   end
   return setmetatable({ set = FRACTIONS[kind] and set_fraction or set_whole, value = nil }, Parameter)
end

function Statement:bind_param(...)
   self.bound = { ... }
   return 0
end

local random_text = host.string

function Parameter:set_rand_str(template)
   if not self.text then
      error('only a parameter of a string type takes a random string', 2)
   end
   self.value = random_text(template)
end

if host.level >= 11 then
   local varying = host.varstring

   function Parameter:set_rand_str_uniform(least, most)
      self.value = varying(least, most)
   end
end

function Statement:close()
   if self.id then
      ask(op.close, self.id)
      self.id = nil
   end
   return 0
end

local function kept(rs)
   if not rs.rows then
      error('the rows of this result were not kept: no chunk of the script seemed to look at any', 3)
   end
   return rs.rows
end

function Result:fetch_row()
   local rows = kept(self)
   if self.at >= self.nrows then
      return nil
   end
   self.at = self.at + 1
   return rows[self.at]
end

function Result:free()
   self.rows = nil
   return 0
end

if host.level >= 11 then
   -- All results of a statement have come with the first one.
   function Connection:more_results()
      local further = self.further
      return further ~= nil and self.taken < #further
   end

   function Connection:next_result()
      if not self:more_results() then
         return nil
      end
      self.taken = self.taken + 1
      local next = self.further[self.taken]
      return result(next.nrows, next.nfields, next.rows)
   end
end
