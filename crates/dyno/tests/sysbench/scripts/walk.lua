-- Walks through results, row by row and value by value.

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  local rs = con:query("SELECT id, name, seen FROM things WHERE id <= 6 ORDER BY id")
  print("rows", rs.nrows, "fields", rs.nfields)
  local total = 0
  for i = 1, rs.nrows do
    local row = rs:fetch_row()
    total = total + tonumber(row[1])
    print(i, row[1], row[2], row[3] or "nothing")
  end
  print("nothing more", rs:fetch_row())
  rs:free()
  print("total", total)

  local empty = con:query("SELECT id FROM things WHERE id > 1000")
  print("rows", empty.nrows, "fields", empty.nfields)

  local id, name, seen = con:query_row("SELECT id, name, seen FROM things WHERE id = 3")
  print(id, name, seen, type(id))

  -- Rows lead to the next statements, for which the result has to be done with.
  local rows = con:query("SELECT id FROM things WHERE id BETWEEN 2 AND 4 ORDER BY id DESC")
  local ids = {}
  for i = 1, rows.nrows do
    ids[i] = rows:fetch_row()[1]
  end
  for _, id in ipairs(ids) do
    con:query(string.format("UPDATE things SET seen = COALESCE(seen, 0) + 1 WHERE id = %d", id))
  end
end

function thread_done()
  con:disconnect()
end
