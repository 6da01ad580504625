-- Options of all kinds, some of which have a say in what they are given.

local function positive(name, value)
  if value <= 0 then
    error(name .. " must be positive", 0)
  end
  return value
end

sysbench.cmdline.options = {
  ratio = {"Share of reads, in per cent", 80},
  label = {"What to call it", "plain"},
  verbose_mode = {"Say more", false},
  steps = {"Steps to take", {"look", "change"}},
  factor = {"Factor", 1.5},
}

function init()
  if sysbench.opt.ratio < 0 or sysbench.opt.ratio > 100 then
    error("--ratio must be between 0 and 100")
  end
  assert(#sysbench.opt.label > 0, "--label must not be empty")
end

function thread_init()
  con = sysbench.sql.driver():connect()
  positive("factor", sysbench.opt.factor)
end

function event()
  if sysbench.opt.verbose_mode then
    print(sysbench.opt.label, sysbench.opt.ratio, sysbench.opt.factor, table.concat(sysbench.opt.steps, "+"))
  end
  for _, step in ipairs(sysbench.opt.steps) do
    if step == "look" and sysbench.rand.uniform(1, 100) <= sysbench.opt.ratio then
      con:query("SELECT n FROM counters WHERE id = 1")
    elseif step == "change" then
      con:query(string.format("UPDATE counters SET n = n + %d WHERE id = 1", sysbench.opt.factor * 10))
    end
  end
end
