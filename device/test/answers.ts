// What the runtime makes of networks that Python made up: a file of cases in, one line of answers each. Called by
// tests/device/test_networks.py.
import { readFileSync } from "node:fs";
import { bytesOf } from "../src/base64";
import { pooled } from "../src/evidence";
import type { Fields } from "../src/layers/layer";
import { Network } from "../src/network";
import { TensorReader } from "../src/tensors";

interface Case {
  layers: Fields[];
  tensors: string;
  inputs: number;
  rows: string[];
  episodes: number[];
}

/** Rows as bytes, because JSON has no NaN. */
function answer(given: Case): { rows: string[]; pooled: string[] } {
  const network = new Network(given.layers, new TensorReader(bytesOf(given.tensors)), given.inputs);
  const rows = given.rows.map((row) => new Float64Array(bytesOf(row).buffer));
  let end = 0;
  const episodes = given.episodes.map((count) => rows.slice(end, (end += count)));
  return { rows: rows.map((row) => text(network.run(row))), pooled: episodes.map((some) => text(pooled(network, some))) };
}

function text(row: Float64Array): string {
  return Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString("base64");
}

for (const line of readFileSync(process.argv[2]!, "utf8").trim().split("\n")) {
  console.log(JSON.stringify(answer(JSON.parse(line) as Case)));
}
