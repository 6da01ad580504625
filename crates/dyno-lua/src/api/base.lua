-- What all parts of the API share: how a script asks the host for something that takes time, and what it prints.
--
-- Whatever needs the server yields to the host, which resumes it with the answer. Coroutines of the script's own pass
-- such a question on to the outermost one, which is the host's.

local host = ...

local create, resume, yield = coroutine.create, coroutine.resume, coroutine.yield
local status = coroutine.status
local select, error, tostring, concat = select, error, tostring, table.concat
local mark = host.mark

-- Asks the host.
function host.ask(code, ...)
   return yield(mark, code, ...)
end

local function relay(co, ok, first, ...)
   if ok and first == mark then
      return relay(co, resume(co, yield(mark, ...)))
   end
   return ok, first, ...
end

function coroutine.resume(co, ...)
   return relay(co, resume(co, ...))
end

local function unwrap(ok, ...)
   if not ok then
      error((...), 0)
   end
   return ...
end

function coroutine.wrap(fn)
   local co = create(fn)
   return function(...)
      return unwrap(coroutine.resume(co, ...))
   end
end

function print(...)
   local count = select('#', ...)
   if count == 1 then
      return host.print(tostring((...)) .. '\n')
   end
   local words = { ... }
   for i = 1, count do
      words[i] = tostring(words[i])
   end
   host.print(concat(words, '\t', 1, count) .. '\n')
end

sysbench = {
   tid = host.tid,
   opt = {},
   version = host.version,
   version_string = 'sysbench ' .. host.version,
   error = { NONE = 0, RESTART_EVENT = 1 },
   hooks = {},
   cmdline = {},
   sql = {},
   rand = {},
   histogram = {},
}
