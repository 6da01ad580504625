// Oracle's own driver in JavaScript (node-oracledb, thin) against a stand-in: whatever is not as on a real server ends
// this with an error. Usage: node driver.mjs PORT

import assert from "node:assert/strict";
import { createRequire } from "node:module";

// Where `examples/drivers` has put it.
const oracledb = createRequire(`${process.env.NODE_PATH}/`)("oracledb");

const connect = (password) =>
  oracledb.getConnection({ user: "bench", password, connectString: `127.0.0.1:${process.argv[2]}/standin` });

async function fails(code, work) {
  try {
    await work();
  } catch (error) {
    assert.equal(error.code, code);
    return error;
  }
  throw new Error(`no ${code}`);
}

await fails("ORA-01017", () => connect("wrong"));
const connection = await connect("secret");
console.log("logged in to", connection.oracleServerVersionString);
const run = (sql, binds = [], options = {}) => connection.execute(sql, binds, options);
const rows = async (sql, binds, options) => (await run(sql, binds, options)).rows;

await run("begin execute immediate 'drop table tbl purge'; exception when others then null; end;");
await run("create table tbl (id number(10) primary key, info varchar2(100), bal number default 0 not null, d date)");
assert.deepEqual(await rows("select 1 from dual"), [[1]]);
const described = (await run("select * from tbl")).metaData.map((column) => [column.name, column.dbTypeName]);
assert.deepEqual(described, [
  ["ID", "NUMBER"],
  ["INFO", "VARCHAR2"],
  ["BAL", "NUMBER"],
  ["D", "DATE"],
]);

// An array, changes, commit and rollback.
const many = Array.from({ length: 1000 }, (_, index) => [index + 1, `info-${index + 1}`]);
const insert = "insert into tbl (id, info) values (:1, :2)";
assert.equal((await connection.executeMany(insert, many)).rowsAffected, 1000);
await connection.commit();
for (const id of [7, 8]) {
  assert.deepEqual(await rows("select id, info from tbl where id = :1", [id]), [[id, `info-${id}`]]);
}
assert.equal((await run("update tbl set info = :1 where id = :2", ["new", 7])).rowsAffected, 1);
await connection.commit();
await run("update tbl set info = :1 where id = :2", ["newer", 8]);
await connection.rollback();
assert.deepEqual(await rows("select id, info, bal from tbl where id in (7, 8) order by id"), [
  [7, "new", 0],
  [8, "info-8", 0],
]);
for (const fetchArraySize of [1000, 100, 7]) {
  const all = await rows("select id, info, bal from tbl order by id", [], { fetchArraySize });
  assert.deepEqual([all.length, all[0], all[999]], [1000, [1, "info-1", 0], [1000, "info-1000", 0]]);
}

// Errors: a statement takes nothing back but itself.
await run("update tbl set bal = bal + 5 where id = 1");
await fails("ORA-00001", () => run(insert, [1, "twice"]));
assert.deepEqual(await rows("select bal from tbl where id = 1"), [[5]]);
await connection.rollback();
await fails("ORA-00942", () => run("select * from nowhere"));
await fails("ORA-00904", () => run("select nothing from dual"));
await fails("ORA-00900", () => run("foo"));
const array = [
  [3000, "a"],
  [1, "twice"],
  [3001, "b"],
];
const batch = await connection.executeMany(insert, array, { batchErrors: true });
assert.equal(batch.rowsAffected, 2);
assert.deepEqual(
  batch.batchErrors.map((error) => [error.offset, error.message.slice(0, 9)]),
  [[1, "ORA-00001"]],
);
await connection.rollback();
const counted = await connection.executeMany(
  "update tbl set bal = bal + :1 where id <= :2",
  [
    [5, 1],
    [6, 0],
    [7, 3],
  ],
  { dmlRowCounts: true },
);
assert.deepEqual(counted.dmlRowCounts, [1, 0, 3]);
await connection.rollback();

// Committed with the execution.
await run("update tbl set bal = bal + :1 where id = :2", [1, 5], { autoCommit: true });
await connection.rollback();
assert.deepEqual(await rows("select bal from tbl where id = 5"), [[1]]);

// Broken off, by the driver's clock and by hand.
await connection.ping();
connection.callTimeout = 200;
await fails("NJS-123", () => run("begin dbms_session.sleep(:1); end;", [20]));
connection.callTimeout = 0;
setTimeout(() => connection.break(), 200);
await fails("ORA-01013", () => run("begin dbms_session.sleep(:1); end;", [20]));
assert.deepEqual(await rows("select count(*) from tbl"), [[1000]]);
await run("drop table tbl purge");
await connection.close();
console.log("all is as it should be");
