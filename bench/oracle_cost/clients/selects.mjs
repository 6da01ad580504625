// Selects by key with node-oracledb (thin) until it is killed, all connections in one event loop.
// Usage: node selects.mjs PORT CONNECTIONS ROWS STATEMENT

import { createRequire } from "node:module";

// Where npm has put it.
const oracledb = createRequire(`${process.env.NODE_PATH}/`)("oracledb");

const [port, connections, rows, statement] = process.argv.slice(2);

async function work(connection) {
  for (;;) {
    await connection.execute(statement, [Math.floor(Math.random() * Number(rows)) + 1]);
  }
}

const all = [];
for (let number = 0; number < Number(connections); number += 1) {
  const connectString = `127.0.0.1:${port}/standin`;
  all.push(await oracledb.getConnection({ user: "bench", password: "secret", connectString }));
}
await Promise.all(all.map(work));
