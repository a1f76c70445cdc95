// Builds the extension into out/extension, and with `test` the tests for node into out/test.
import { build } from "esbuild";
import { cpSync, readdirSync, rmSync } from "node:fs";

const options = { bundle: true, charset: "utf8", logLevel: "warning", minify: true, target: "chrome120", format: "iife" };
const parts = { worker: "worker.ts", offscreen: "offscreen.ts", content: "content.ts", shim: "shim/main.ts", popup: "popup/main.ts", guide: "guide.ts" };

async function extension() {
  rmSync("out/extension", { recursive: true, force: true });
  const entryPoints = Object.entries(parts).map(([out, file]) => ({ out, in: `src/extension/${file}` }));
  await build({ ...options, entryPoints, outdir: "out/extension" });
  cpSync("static", "out/extension", { recursive: true });
}

async function tests() {
  rmSync("out/test", { recursive: true, force: true });
  const entryPoints = readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  const node = { platform: "node", target: "node20", format: "esm", minify: false };
  await build({ ...options, ...node, entryPoints, outdir: "out/test", outExtension: { ".js": ".mjs" } });
}

await extension();
if (process.argv[2] === "test") await tests();
