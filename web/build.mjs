// Bundles the scripts and the style of dyno's pages: node build.mjs FOLDER
import { build } from "esbuild";
import { readFileSync } from "node:fs";

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node build.mjs FOLDER");
  process.exit(1);
}

// What the licences of the bundled libraries ask to be kept with every copy.
const notices = ["echarts/NOTICE", "zrender/LICENSE"]
  .map((file) => readFileSync(new URL(`node_modules/${file}`, import.meta.url), "utf8").trim())
  .join("\n\n");

await build({
  entryPoints: ["src/report.ts", "src/live.ts", "src/svg.ts", "src/style.css"],
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  banner: { js: `/*!\n${notices}\n*/` },
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
});
