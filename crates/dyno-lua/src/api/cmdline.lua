-- The command line as the script sees it, and what the script declares for it.

local host = ...
local cmdline = sysbench.cmdline
local format, rep, sort, pairs, type, tostring = string.format, string.rep, table.sort, pairs, type, tostring

cmdline.argv = host.argv
cmdline.command = host.command
cmdline.script_path = host.script_path
cmdline.PARALLEL_COMMAND = true
cmdline.ARG_NULL, cmdline.ARG_BOOL, cmdline.ARG_INT, cmdline.ARG_SIZE = 0, 1, 2, 3
cmdline.ARG_DOUBLE, cmdline.ARG_STRING, cmdline.ARG_LIST, cmdline.ARG_FILE = 4, 5, 6, 7

local KINDS = { [1] = 'bool', [2] = 'int', [3] = 'int', [4] = 'double', [5] = 'string', [6] = 'list', [7] = 'string' }

-- The kind of an option, which decides how its values are read.
local function kind(definition)
   local given = definition[3]
   if given ~= nil and given ~= 0 then
      return KINDS[given] or 'string'
   end
   local default = definition[2]
   if type(default) == 'boolean' then
      return 'bool'
   elseif type(default) == 'number' then
      return default % 1 == 0 and 'int' or 'double'
   elseif type(default) == 'table' then
      return 'list'
   end
   return 'string'
end

local function names(of)
   local list = {}
   for name in pairs(of) do
      list[#list + 1] = name
   end
   sort(list, function(a, b) return tostring(a) < tostring(b) end)
   return list
end

-- Tells the host what the script declares.
function host.options()
   local declared = cmdline.options
   if type(declared) ~= 'table' then
      return nil
   end
   local list = {}
   for i, name in pairs(names(declared)) do
      local definition = declared[name]
      if type(definition) ~= 'table' then
         definition = { tostring(definition) }
      end
      list[i] = {
         tostring(name), tostring(definition[1] or ''), kind(definition), definition[2], type(definition[4]) == 'function',
      }
   end
   return list
end

function host.commands()
   local list = {}
   if type(cmdline.commands) == 'table' then
      for i, name in pairs(names(cmdline.commands)) do
         local command = cmdline.commands[name]
         local parallel = type(command) == 'table' and command[2] == cmdline.PARALLEL_COMMAND
         list[i] = { tostring(name), parallel }
      end
   end
   return list
end

-- Fills in what is not given.
function host.defaults()
   if type(cmdline.options) == 'table' then
      for name, definition in pairs(cmdline.options) do
         if sysbench.opt[name] == nil and type(definition) == 'table' then
            sysbench.opt[name] = definition[2]
         end
      end
   end
end

function host.validate(name, value)
   local definition = cmdline.options[name]
   return definition[4](value)
end

-- The function of a command.
function host.command_of(name)
   local declared = type(cmdline.commands) == 'table' and cmdline.commands[name]
   if type(declared) == 'table' then
      return declared[1]
   elseif type(declared) == 'function' then
      return declared
   end
   return rawget(_G, name)
end

function cmdline.print_test_options()
   local declared = cmdline.options
   if type(declared) ~= 'table' or next(declared) == nil then
      return
   end
   local list = names(declared)
   local heads, widest = {}, 0
   for i, name in pairs(list) do
      local kinds = { bool = '[=on|off]', int = '=N', double = '=N', string = '=STRING', list = '=[LIST,...]' }
      heads[i] = '--' .. name .. kinds[kind(declared[name])]
      widest = math.max(widest, #heads[i])
   end
   local lines = { script_options = nil }
   for i, name in pairs(list) do
      local default = declared[name][2]
      if type(default) == 'boolean' then
         default = default and 'on' or 'off'
      elseif type(default) == 'table' then
         default = table.concat(default, ',')
      end
      local shown = default == nil and '' or format(' [%s]', tostring(default))
      lines[i] = '  ' .. heads[i] .. rep(' ', widest - #heads[i] + 1) .. tostring(declared[name][1]) .. shown
   end
   print(format('%s options:', host.script_name))
   print(table.concat(lines, '\n'))
   print('')
end
