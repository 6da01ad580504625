-- Moves money in transactions that begin again when the server gives them up, with new amounts.

sysbench.cmdline.options = {
  accounts = {"Number of accounts", 10},
}

local tries = 0

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  tries = tries + 1
  con:query("BEGIN")
  local from, to = sysbench.rand.uniform(1, sysbench.opt.accounts), sysbench.rand.uniform(1, sysbench.opt.accounts)
  con:query(string.format("UPDATE accounts SET balance = balance - 10 WHERE id = %d", from))
  if tries % 3 == 0 then
    con:query("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'a deadlock'")
  elseif tries % 5 == 0 then
    con:query("SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'not today'")
  end
  con:query(string.format("UPDATE accounts SET balance = balance + 10 WHERE id = %d", to))
  con:query("COMMIT")
end

function thread_done()
  con:disconnect()
end

function sysbench.hooks.sql_error_ignorable(e)
  print("ignorable?", e.sql_errno, e.sql_state, e.sql_errmsg, e.query)
  return e.sql_errno == 30001
end

function sysbench.hooks.before_restart_event(e)
  print("again after", e.sql_errno, e.sql_state, e.sql_errmsg)
  e.connection:query("ROLLBACK")
end
