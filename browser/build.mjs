// Builds the files for browsers into the Python package; with `test`, into out/files, and the tests into out/test.
import { build } from "esbuild";
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const tested = process.argv[2] === "test";
const files = tested ? "out/files" : "../src/deeprotect/exporting/files";
const options = {
  bundle: true,
  charset: "utf8",
  logLevel: "warning",
  minify: true,
  target: "chrome120",
  format: "iife",
};
const parts = {
  worker: "worker.ts",
  offscreen: "offscreen.ts",
  content: "content.ts",
  shim: "shim/main.ts",
  popup: "popup/main.ts",
  guide: "guide.ts",
};

async function exported() {
  for (const part of ["extension", "embedded"]) rmSync(`${files}/${part}`, { recursive: true, force: true });
  const entryPoints = Object.entries(parts).map(([out, file]) => ({ out, in: `src/extension/${file}` }));
  await build({ ...options, entryPoints, outdir: `${files}/extension` });
  await build({
    ...options,
    entryPoints: [{ out: "deeprotect", in: "src/embed/main.ts" }],
    outdir: `${files}/embedded`,
  });
  cpSync("static/extension", `${files}/extension`, { recursive: true });
  writeFileSync(`${files}/extension/rules.json`, `${JSON.stringify(await headerRules(), null, 2)}\n`);
  cpSync("static/embedded", `${files}/embedded`, { recursive: true });
}

async function headerRules() {
  const { outputFiles } = await build({
    ...options,
    format: "esm",
    entryPoints: ["src/extension/header.ts"],
    write: false,
  });
  const { rules } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
  return rules();
}

async function tests() {
  rmSync("out/test", { recursive: true, force: true });
  const tried = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  const entryPoints = tried.map((name) => `test/${name}`);
  const node = { platform: "node", target: "node20", format: "esm", minify: false };
  await build({ ...options, ...node, entryPoints, outdir: "out/test", outExtension: { ".js": ".mjs" } });
}

/** The replay of recordings: out/proof. */
async function proof() {
  await build({ ...options, entryPoints: ["proof/app.ts"], outdir: "out/proof" });
  const node = { platform: "node", target: "node20", format: "esm", minify: false };
  await build({
    ...options,
    ...node,
    entryPoints: ["proof/replay.ts", "proof/overhead.ts", "proof/walk.ts"],
    outdir: "out/proof",
    outExtension: { ".js": ".mjs" },
  });
}

await exported();
if (tested) await tests();
if (process.argv[2] === "proof") await proof();
