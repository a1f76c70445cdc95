// What the runtime makes of networks that Python made up: a file of cases in, one line of answers each. Called by
// tests/device/test_networks.py.
import { readFileSync } from "node:fs";
import { BundleError } from "../src/errors";
import { pooled } from "../src/evidence";
import { parse } from "../src/json";
import { Network } from "../src/network";
import { TensorReader } from "../src/tensors";
import { bytes } from "./vectors";

interface Case {
  layers: unknown;
  tensors: string;
  inputs: number;
  rows: string[];
  episodes: number[];
}

/** Rows as bytes, because JSON has no NaN; null for a network that is refused. */
function answer(given: Case): { rows: string[]; pooled: string[] } | null {
  const network = read(given);
  if (!network) return null;
  const rows = given.rows.map((row) => new Float64Array(bytes(row).buffer));
  let end = 0;
  const episodes = given.episodes.map((count) => rows.slice(end, (end += count)));
  return { rows: rows.map((row) => text(network.run(row))), pooled: episodes.map((some) => text(pooled(network, some))) };
}

function read(given: Case): Network | null {
  try {
    return Network.read(parse(JSON.stringify(given.layers)), new TensorReader(bytes(given.tensors)), given.inputs);
  } catch (error) {
    if (error instanceof BundleError) return null;
    throw error;
  }
}

function text(row: Float64Array): string {
  return Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString("base64");
}

for (const line of readFileSync(process.argv[2]!, "utf8").trim().split("\n")) {
  console.log(JSON.stringify(answer(JSON.parse(line) as Case)));
}
