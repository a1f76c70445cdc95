// Builds the tests for node into out/test.
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";

async function tests() {
  rmSync("out/test", { recursive: true, force: true });
  const tried = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  const entryPoints = [...tried, "answers.ts"].map((name) => `test/${name}`);
  const node = { platform: "node", target: "node20", format: "esm" };
  await build({ ...node, bundle: true, charset: "utf8", logLevel: "warning", entryPoints, outdir: "out/test", outExtension: { ".js": ".mjs" } });
}

if (process.argv[2] === "test") await tests();
