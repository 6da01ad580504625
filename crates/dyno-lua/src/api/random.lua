-- Random numbers: the host draws them.

local host = ...
local rand = sysbench.rand

for _, name in ipairs({
   'default', 'uniform', 'gaussian', 'special', 'pareto', 'unique', 'uniform_double', 'string',
}) do
   rand[name] = host[name]
end

function rand.uniform_uint64()
   return host.uint64(host.halves())
end

if host.level >= 11 then
   rand.zipfian = host.zipfian
   rand.varstring = host.varstring
end
