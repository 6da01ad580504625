-- Orders of customers in several shops, each with tables of its own.

sysbench.cmdline.options = {
  shops = {"Number of shops", 2},
  customers = {"Customers of each shop", 10},
  items = {"Items of each order", 3},
}

local function each_shop(act)
  for shop = 1, sysbench.opt.shops do
    act(shop)
  end
end

function prepare()
  local con = sysbench.sql.driver():connect()
  each_shop(function(shop)
    print("Opening shop " .. shop)
    con:query(string.format(
      "CREATE TABLE customers%d (id INT NOT NULL PRIMARY KEY, name CHAR(20), orders INT NOT NULL)", shop))
    con:query(string.format(
      "CREATE TABLE orders%d (id INT, item INT, customer INT, price INT, PRIMARY KEY (id, item))", shop))
    con:bulk_insert_init(string.format("INSERT INTO customers%d (id, name, orders) VALUES", shop))
    for id = 1, sysbench.opt.customers do
      con:bulk_insert_next(string.format("(%d, 'customer %d', 0)", id, id))
    end
    con:bulk_insert_done()
  end)
  con:disconnect()
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  each_shop(function(shop)
    con:query("DROP TABLE IF EXISTS orders" .. shop)
    con:query("DROP TABLE IF EXISTS customers" .. shop)
  end)
end

function thread_init()
  con = sysbench.sql.driver():connect()
  order = sysbench.tid * 1000000
end

function event()
  local shop = sysbench.rand.uniform(1, sysbench.opt.shops)
  local customer = sysbench.rand.default(1, sysbench.opt.customers)
  order = order + 1
  con:query("BEGIN")
  for item = 1, sysbench.opt.items do
    con:query(string.format("INSERT INTO orders%d (id, item, customer, price) VALUES (%d, %d, %d, %d)", shop, order,
      item, customer, sysbench.rand.uniform(1, 100)))
  end
  con:query(string.format("UPDATE customers%d SET orders = orders + 1 WHERE id = %d", shop, customer))
  con:query(string.format("SELECT c.name, SUM(o.price) FROM customers%d c JOIN orders%d o ON o.customer = c.id "
    .. "WHERE c.id = %d GROUP BY c.name", shop, shop, customer))
  con:query("COMMIT")
end

function thread_done()
  con:disconnect()
end
