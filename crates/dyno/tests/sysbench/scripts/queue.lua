-- Jobs are taken from a table until there are none left, which ends the thread.

function thread_init()
  con = sysbench.sql.driver():connect()
  done_jobs = 0
end

function event()
  con:query("BEGIN")
  local id = con:query_row("SELECT id FROM things WHERE seen IS NULL ORDER BY id LIMIT 1 FOR UPDATE")
  if id == nil then
    con:query("ROLLBACK")
    print("nothing left after", done_jobs)
    return true
  end
  con:query("UPDATE things SET seen = 1 WHERE id = " .. id)
  con:query("COMMIT")
  done_jobs = done_jobs + 1
end

function thread_done()
  con:disconnect()
end
