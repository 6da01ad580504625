-- A script of sysbench 0.5: globals for everything, and options that nothing declares.

function set_vars()
  table_size = tonumber(oltp_table_size) or 50
  if oltp_skip_trx == "on" then
    skip = true
  else
    skip = false
  end
end

function prepare()
  set_vars()
  db_connect()
  print("Creating table 'old1'...")
  if db_driver == "mysql" then
    query = [[CREATE TABLE old1 (id INTEGER NOT NULL PRIMARY KEY, k INTEGER DEFAULT '0' NOT NULL, c CHAR(20)) /*! ENGINE = ]]
      .. mysql_table_engine .. " MAX_ROWS = " .. myisam_max_rows .. " */"
  else
    query = [[CREATE TABLE old1 (id INTEGER NOT NULL PRIMARY KEY, k INTEGER DEFAULT '0' NOT NULL, c CHAR(20))]]
  end
  db_query(query)
  print("Inserting " .. table_size .. " records")
  db_bulk_insert_init("INSERT INTO old1 (id, k, c) VALUES")
  for i = 1, table_size do
    db_bulk_insert_next("(" .. i .. ", " .. i % 7 .. ", 'row " .. i .. "')")
  end
  db_bulk_insert_done()
  return 0
end

function cleanup()
  db_connect()
  print("Dropping table 'old1'...")
  db_query("DROP TABLE old1")
end

function thread_init(thread_id)
  set_vars()
  db_connect()
end

function event(thread_id)
  if not skip then
    db_query("BEGIN")
  end
  rs = db_query("SELECT c FROM old1 WHERE id = " .. sb_rand(1, table_size))
  rs = db_query("SELECT COUNT(*) FROM old1 WHERE k = " .. sb_rand_uniform(0, 6))
  rs = db_query("UPDATE old1 SET k = k + 1 WHERE id = " .. sb_rand_gaussian(1, table_size))
  rs = db_query("UPDATE old1 SET c = '" .. sb_rand_str("@@@-###") .. "' WHERE id = " .. sb_rand_special(1, table_size))
  if not skip then
    db_query("COMMIT")
  end
end
