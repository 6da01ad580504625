-- One row by its id.

require("oltp_common")

function prepare_statements()
  -- One query an event, whatever transactions of other workloads have.
  sysbench.opt.point_selects = 1
  prepare_point_selects()
end

function event()
  execute_point_selects()
  check_reconnect()
end
