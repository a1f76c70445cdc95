// Builds the npm package into dist, and the script for engines that an app hosts into the Python package; with `test`
// that script into out/files, and the tests into out.
import { transformFileAsync } from "@babel/core";
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";

const tested = process.argv[2] === "test";
const files = tested ? "out/files" : "../src/deeprotect/exporting/files";
const options = { bundle: true, charset: "ascii", logLevel: "warning", target: "es2020" };
const entries = ["index", "expo", "capacitor"];
const external = ["expo-sensors", "expo-crypto", "expo-sqlite", "@capacitor/*"];

async function script() {
  await build({ ...options, entryPoints: ["src/script.ts"], outfile: `${files}/device/deeprotect.js`, format: "iife", minify: true });
}

async function packed() {
  rmSync("dist", { recursive: true, force: true });
  const entryPoints = entries.map((name) => `src/${name}.ts`);
  await build({ ...options, entryPoints, external, outdir: "dist", format: "esm", splitting: true });
  await build({ ...options, entryPoints, external, outdir: "dist", format: "cjs", outExtension: { ".js": ".cjs" } });
  const declared = spawnSync("npx", ["tsc", "-p", "tsconfig.types.json"], { stdio: "inherit" });
  if (declared.status) process.exit(1);
}

async function tests() {
  rmSync("out/test", { recursive: true, force: true });
  const tried = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  const entryPoints = tried.map((name) => `test/${name}`);
  const node = { platform: "node", target: "node20", format: "esm" };
  await build({ ...options, ...node, entryPoints, outdir: "out/test", outExtension: { ".js": ".mjs" } });
}

/** For engines, as an app's bundler writes it; Hermes knows no classes, and gets what React Native's preset makes of them. */
async function engines() {
  await build({ ...options, entryPoints: ["test/engine.ts", "test/bench.ts"], outdir: "out/engine", format: "iife" });
  for (const name of ["engine", "bench"]) {
    const file = `out/engine/${name}.js`;
    const presets = [["@react-native/babel-preset", { enableBabelRuntime: false, disableImportExportTransform: true }]];
    const { code } = await transformFileAsync(file, { presets, babelrc: false, configFile: false, compact: true });
    writeFileSync(`out/engine/${name}.hermes.js`, code);
  }
}

await script();
await packed();
if (tested) {
  await tests();
  await engines();
}
