// The vectors that Python wrote: tests/device/vectors.py.
import { readFileSync } from "node:fs";

interface Vectors {
  layers: { name: string; layers: unknown; tensors: string; rows: number[][]; results: number[][] }[];
  below: { bound: string; drawn: number[]; words: string[] }[];
  laplace: { scale: string; drawn: string[]; words: string[] }[];
  episodes: {
    hold: number;
    listen: number;
    observe: "whole" | "beginning" | "before";
    windows: number;
    fill: boolean;
    steps: { part: number; number: number; whole: boolean; available: boolean; observed: number[][]; left: number[][] }[];
  }[];
  ledgers: {
    epsilon: number;
    limits: { per_hour?: number; per_day?: number; in_all?: number };
    steps: { minute: number; paid: boolean; spent: number[] }[];
  }[];
  digests: { json: string; sha256: string }[];
  bundles: VectorBundle[];
  forged: { kind: string; place: string; value: unknown }[];
  garbled: { kind: string; find: string; instead: string }[];
}

export interface VectorBundle {
  kind: string;
  manifest: string;
  tensors: string;
  windows: number[][];
  held: number;
  codes: number[][];
  words: string[];
  noisy: number[][];
  released: number[][];
}

export const vectors = JSON.parse(readFileSync("../device/test/vectors.json", "utf8")) as Vectors;

export function bytes(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(base64, "base64"));
}

export function bundleOf(kind: string): VectorBundle {
  return vectors.bundles.find((each) => each.kind === kind)!;
}
