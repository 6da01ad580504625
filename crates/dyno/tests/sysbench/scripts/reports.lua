-- Reports of its own: a line with commas for each interval, and JSON at the end.

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query("BEGIN")
  con:query("SELECT n FROM counters WHERE id = 1")
  con:query("UPDATE counters SET n = n + 1 WHERE id = 1")
  con:query("COMMIT")
end

local function fields(stat)
  return {
    {"threads", stat.threads_running}, {"events", stat.events}, {"reads", stat.reads}, {"writes", stat.writes},
    {"other", stat.other}, {"errors", stat.errors}, {"reconnects", stat.reconnects},
  }
end

function sysbench.hooks.report_intermediate(stat)
  local rates = {}
  for i, field in ipairs(fields(stat)) do
    rates[i] = string.format("%.2f", i == 1 and field[2] or field[2] / stat.time_interval)
  end
  print(table.concat(rates, ","))
end

function sysbench.hooks.report_cumulative(stat)
  print("{")
  for _, field in ipairs(fields(stat)) do
    print(string.format('  "%s": %d,', field[1], field[2]))
  end
  print(string.format('  "95%%": %.3f,\n  "seconds": %.3f\n}', stat.latency_pct * 1000, stat.time_interval))
end
