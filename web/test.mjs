// Bundles the tests and runs them with Node's own runner: node test.mjs
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";

const folder = "out/test";
rmSync(folder, { recursive: true, force: true });
const tests = readdirSync("test").filter((file) => file.endsWith(".test.ts"));
await build({
  entryPoints: tests.map((file) => `test/${file}`),
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node18",
  sourcemap: "inline",
  logLevel: "warning",
});
const files = tests.map((file) => `${folder}/${file.replace(/\.ts$/, ".mjs")}`);
process.exit(spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { stdio: "inherit" }).status ?? 1);
