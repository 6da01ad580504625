-- Looks things up by prepared statements, and keeps a trail of what was looked at, which is inserted in bulk.

local INT, VARCHAR = sysbench.sql.type.INT, sysbench.sql.type.VARCHAR

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()

  find = con:prepare("SELECT name FROM things WHERE id = ?")
  find_id = find:bind_create(INT)
  find:bind_param(find_id)

  note = con:prepare("UPDATE things SET name = ?, seen = seen + ? WHERE id = ?")
  note_name, note_seen, note_id = note:bind_create(VARCHAR, 12), note:bind_create(INT), note:bind_create(INT)
  note:bind_param(note_name, note_seen, note_id)

  con:bulk_insert_init("INSERT INTO trail (step, thing) VALUES")
  step = 0
end

function event()
  for _ = 1, 3 do
    local id = sysbench.rand.uniform(1, 10)
    find_id:set(id)
    find:execute()
    step = step + 1
    con:bulk_insert_next(string.format("(%d, %d)", step, id))
  end
  note_name:set_rand_str("thing-@@-###")
  note_seen:set(1)
  note_id:set(sysbench.rand.uniform(1, 10))
  note:execute()
  -- Longer than there is room for.
  note_name:set(string.rep("long", 10))
  note_seen:set(nil)
  note_id:set(99)
  note:execute()
end

function thread_done()
  con:bulk_insert_done()
  find:close()
  note:close()
  con:disconnect()
end
