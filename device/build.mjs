// Builds the script for engines that apps embed into the Python package; with `package`, the npm package into dist; with
// `test`, both and the tests, all into out; with `bench`, the programs that measure engines into out/engine.
import { transformFileAsync } from "@babel/core";
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const tested = process.argv[2] === "test";
const files = tested ? "out/files" : "../src/deeprotect/exporting/files";
const options = { bundle: true, charset: "ascii", logLevel: "warning", target: "es2020" };
const entries = ["index", "expo", "capacitor"];
const external = ["expo-sensors", "expo-crypto", "expo-sqlite", "@capacitor/*"];

async function script() {
  await build({
    ...options,
    entryPoints: ["src/script.ts"],
    outfile: `${files}/device/deeprotect.js`,
    format: "iife",
    minify: true,
  });
}

async function packed() {
  rmSync("dist", { recursive: true, force: true });
  const entryPoints = entries.map((name) => `src/${name}.ts`);
  await build({ ...options, entryPoints, external, outdir: "dist", format: "esm", splitting: true });
  await build({ ...options, entryPoints, external, outdir: "dist", format: "cjs", outExtension: { ".js": ".cjs" } });
  const declared = spawnSync("npx", ["tsc", "-p", "tsconfig.types.json"], { stdio: ["ignore", "inherit", "ignore"] });
  if (declared.status) process.exit(1);
  for (const name of readdirSync("dist", { recursive: true }).filter((each) => each.endsWith(".d.ts")))
    finish(`dist/${name}`);
}

/** Writes declarations for both kinds of modules, whose imports have different endings. */
function finish(path) {
  const text = readFileSync(path, "utf8");
  const ending = (end) => text.replace(/(from|import\()( ?)"(\.[^"]+)"/g, `$1$2"$3.${end}"`);
  writeFileSync(path.replace(/ts$/, "cts"), ending("cjs"));
  writeFileSync(path, ending("js"));
}

async function tests() {
  rmSync("out/test", { recursive: true, force: true });
  const tried = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  const entryPoints = tried.map((name) => `test/${name}`);
  const alias = Object.fromEntries(
    ["expo-sensors", "@capacitor/motion"].map((name) => [name, `./test/fakes/${name.split("/").pop()}.ts`]),
  );
  const node = { platform: "node", target: "node20", format: "esm", alias };
  await build({ ...options, ...node, entryPoints, outdir: "out/test", outExtension: { ".js": ".mjs" } });
}

/** Builds for engines as an app's bundler does; Hermes has no classes, so React Native's preset translates them. */
async function engines() {
  await build({ ...options, entryPoints: ["test/engine.ts", "test/bench.ts"], outdir: "out/engine", format: "iife" });
  for (const name of ["engine", "bench"]) {
    const file = `out/engine/${name}.js`;
    const presets = [["@react-native/babel-preset", { enableBabelRuntime: false, disableImportExportTransform: true }]];
    const { code } = await transformFileAsync(file, { presets, babelrc: false, configFile: false, compact: true });
    writeFileSync(`out/engine/${name}.hermes.js`, code);
  }
}

if (process.argv[2] !== "package") await script();
if (process.argv[2] === "package" || tested) await packed();
if (tested) await tests();
if (tested || process.argv[2] === "bench") await engines();
