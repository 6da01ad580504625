-- The life of a client, and calls from the host: each runs as the host's coroutine.

local host = ...
local ask, op = host.ask, host.op
local yield, mark, DONE = coroutine.yield, host.mark, op.done
local xpcall, type, tostring, rawget, getmetatable = xpcall, type, tostring, rawget, getmetatable
local traceback = debug.traceback
local RESTART_EVENT = sysbench.error.RESTART_EVENT
local hooks = sysbench.hooks
local tid = host.tid

-- The text of an error; what is none and does not say how it is shown has sysbench's words for that.
local function text_of(problem)
   local kind = type(problem)
   local shown = getmetatable(problem)
   if kind == 'string' or kind == 'number' or type(shown) == 'table' and shown.__tostring then
      return tostring(problem)
   end
   return '(not a string)'
end

-- What is told of an error: its text and where it was called from. Requests to begin again pass.
local function describe(problem)
   if type(problem) == 'table' then
      if problem.errcode == RESTART_EVENT or problem.described then
         return problem
      end
      problem = problem.sql_errmsg or problem
   end
   return { described = text_of(problem), traceback = traceback('', 2) }
end

-- Tells the host that a function has failed, which is the end.
local function fail(name, problem)
   -- Where the stack has overflowed, what should describe that fails as well, and what is left is a text.
   local text = type(problem) == 'string' and problem or problem.described
      or ("SQL error, errno = %d, state = '%s': %s"):format(problem.sql_errno or 0, problem.sql_state or '',
         problem.sql_errmsg or '')
   ask(op.failed, name, text, problem.traceback or '')
end

-- Calls a function of the script.
local function call(name, fn, ...)
   local ok, first = xpcall(fn, describe, ...)
   if not ok then
      fail(name, first)
   end
   return first
end

-- One event, as often as it takes.
local function event_until_done()
   local event = event
   while true do
      local ok, first = xpcall(event, describe, tid)
      if ok then
         return first
      elseif first.errcode ~= RESTART_EVENT then
         fail('thread_run', first)
      end
      if hooks.before_restart_event then
         call('thread_run', hooks.before_restart_event, first)
      end
   end
end

function host.life()
   local init = rawget(_G, 'thread_init')
   if init then
      call('thread_init', init, tid)
   end
   local go = ask(op.ready)
   local run = rawget(_G, 'thread_run')
   while go do
      if run then
         call('thread_run', run, tid)
         go = ask(op.finish, false)
      else
         local stop = event_until_done()
         if stop then
            go = ask(op.finish, false)
         else
            go = yield(mark, DONE)
         end
      end
   end
   local done = rawget(_G, 'thread_done')
   if done then
      call('thread_done', done, tid)
   end
   ask(op.ready)
end

-- A single call.
function host.call(name, fn, ...)
   call(name, fn, ...)
   ask(op.ready)
end
