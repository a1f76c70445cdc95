// The vectors that Python wrote: tests/device/vectors.py.
import { Bundle, type Exported } from "../src/bundle";
import type { Fields } from "../src/layers/layer";
import stored from "./vectors.json";

interface Vectors {
  layers: { name: string; layers: Fields[]; tensors: string; rows: number[][]; results: number[][] }[];
  below: { bound: string; drawn: number[]; words: string[] }[];
  laplace: { scale: string; drawn: string[]; words: string[] }[];
  episodes: {
    hold: number;
    listen: number;
    observe: "whole" | "beginning" | "before";
    windows: number;
    fill: boolean;
    steps: {
      part: number;
      number: number;
      whole: boolean;
      available: boolean;
      observed: number[][];
      left: number[][];
    }[];
  }[];
  ledgers: {
    epsilon: number;
    limits: { per_hour?: number; per_day?: number; in_all?: number };
    steps: { minute: number; paid: boolean; spent: number[] }[];
  }[];
  bundles: VectorBundle[];
}

export interface VectorBundle {
  kind: string;
  protector: string;
  digest: string;
  windows: number[][];
  held: number;
  codes: number[][];
  words: string[];
  noisy: number[][];
  released: number[][];
}

export const vectors = stored as unknown as Vectors;

export function bundleOf(kind: string): VectorBundle {
  return vectors.bundles.find((each) => each.kind === kind)!;
}

export function exportedOf(kind: string): Exported {
  return JSON.parse(bundleOf(kind).protector) as Exported;
}

export function load(kind: string): Bundle {
  return new Bundle(exportedOf(kind));
}
