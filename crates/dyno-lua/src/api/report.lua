-- Reports that a script may choose for `sysbench.hooks.report_intermediate` and `report_cumulative`.

local host = ...
local format = string.format

local function per_second(stat, count)
   return stat.time_interval > 0 and count / stat.time_interval or 0
end

function sysbench.report_default(stat)
   host.report_default(stat)
end

function sysbench.report_csv(stat)
   local queries = stat.reads + stat.writes + stat.other
   print(format('%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f',
      stat.time_total, stat.threads_running,
      per_second(stat, stat.events), per_second(stat, queries),
      per_second(stat, stat.reads), per_second(stat, stat.writes), per_second(stat, stat.other),
      stat.latency_pct * 1000, per_second(stat, stat.errors), per_second(stat, stat.reconnects)))
end

local before

function sysbench.report_json(stat)
   local queries = stat.reads + stat.writes + stat.other
   host.print(before and ',\n' or '[\n')
   before = true
   host.print(format([[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]],
      stat.time_total, stat.threads_running, per_second(stat, stat.events), per_second(stat, queries),
      per_second(stat, stat.reads), per_second(stat, stat.writes), per_second(stat, stat.other),
      stat.latency_pct * 1000, per_second(stat, stat.errors), per_second(stat, stat.reconnects)))
end

-- Ends the list of reports that was begun.
function host.end_reports()
   if before then
      before = nil
      host.print('\n]\n')
   end
end

local Histogram = {}
Histogram.__index = Histogram
Histogram.__tostring = function() return '<sb_histogram>' end

function sysbench.histogram.new(size, least, most)
   if not (tonumber(size) and size > 1 and tonumber(least) and least > 0 and tonumber(most) and most > least) then
      error('sysbench.histogram.new() takes a size above 1, and a range of numbers above 0', 2)
   end
   local from = math.log(least)
   return setmetatable({
      size = size, from = from, scale = (size - 1) / (math.log(most) - from), least = least, counts = {},
   }, Histogram)
end

function Histogram:update(value)
   local at = 0
   if value > self.least then
      at = math.min(self.size - 1, math.floor((math.log(value) - self.from) * self.scale + 0.5))
   end
   self.counts[at] = (self.counts[at] or 0) + 1
end

function Histogram:print()
   local most = 0
   for _, count in pairs(self.counts) do
      most = math.max(most, count)
   end
   if most == 0 then
      return
   end
   print('       value  ------------- distribution ------------- count')
   for at = 0, self.size - 1 do
      local count = self.counts[at]
      if count then
         local stars = ('*'):rep(math.floor(count * 40 / most + 0.5))
         print(format('%12.3f |%-40s %u', math.exp(at / self.scale + self.from), stars, count))
      end
   end
end
