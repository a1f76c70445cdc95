// Builds what runs in the browser into out/, and with `test` the tests for node into out/test.
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";

const options = { bundle: true, target: "chrome120", format: "esm", charset: "utf8", logLevel: "warning" };

if (process.argv[2] === "test") {
  rmSync("out/test", { recursive: true, force: true });
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  await build({ ...options, entryPoints: tests, outdir: "out/test", outExtension: { ".js": ".mjs" }, platform: "node", target: "node20" });
}
