-- Two connections for each thread: one that writes, one that reads what is committed; the reader is made anew now and
-- then.

function init()
  local con = sysbench.sql.driver():connect()
  con:query("DELETE FROM counters")
  con:query("INSERT INTO counters (id, n) VALUES (1, 0)")
  con:disconnect()
end

function thread_init()
  drv = sysbench.sql.driver()
  writer, reader = drv:connect(), drv:connect()
  if drv:name() == "mysql" then
    writer:query("SET SESSION autocommit = 0")
    reader:query("SET SESSION transaction_isolation = 'READ-COMMITTED'")
  else
    reader:query("SET default_transaction_isolation = 'read committed'")
  end
  turns = 0
end

function event()
  turns = turns + 1
  if drv:name() == "pgsql" then
    writer:query("BEGIN")
  end
  writer:query("UPDATE counters SET n = n + 1 WHERE id = 1")
  print("before", reader:query_row("SELECT n FROM counters WHERE id = 1"))
  writer:query("COMMIT")
  print("after", reader:query_row("SELECT n FROM counters WHERE id = 1"))
  if turns % 2 == 0 then
    reader:disconnect()
    reader = drv:connect()
  end
end

function thread_done()
  writer:disconnect()
  reader:disconnect()
end

function done()
  print("done")
end
