// Layers from a manifest: the closed vocabulary. What is not in it cannot be run.
import { BundleError } from "../errors";
import type { Json } from "../json";
import { Record } from "../record";
import type { TensorReader } from "../tensors";
import { Activation } from "./activations";
import { Argmax } from "./decision";
import { Chain, type Layer } from "./layer";
import { Affine, Convolution, Scale } from "./products";
import { Concatenation, Flatten, Residual, Unflatten } from "./structure";
import { PiecewiseLinear, Spectrum, Statistics } from "./summaries";

const SIMPLE = new Map<string, (fields: Record, tensors: TensorReader) => Layer>([
  ["activation", Activation.read],
  ["affine", Affine.read],
  ["argmax", Argmax.read],
  ["convolution", Convolution.read],
  ["flatten", Flatten.read],
  ["piecewise linear", PiecewiseLinear.read],
  ["scale", Scale.read],
  ["spectrum", Spectrum.read],
  ["statistics", Statistics.read],
  ["unflatten", Unflatten.read],
]);
const MOST_LAYERS = 256; // of one chain
const DEEPEST = 4; // chains inside chains

/** The layers that a list of JSON objects names; few enough, and not nested without end. */
export function readLayers(listed: Json | undefined, tensors: TensorReader, depth = 0): Chain {
  if (!Array.isArray(listed) || listed.length > MOST_LAYERS || depth > DEEPEST) {
    throw new BundleError(`a network must be a list of at most ${MOST_LAYERS} layers, ${DEEPEST} deep; train again`);
  }
  return new Chain(listed.map((fields) => readLayer(new Record(fields, "layer"), tensors, depth)));
}

function readLayer(fields: Record, tensors: TensorReader, depth: number): Layer {
  const op = fields.text("op");
  if (op === Residual.op) return new Residual(readLayers(fields.only("op", "layers").get("layers"), tensors, depth + 1));
  if (op === Concatenation.op) {
    const branches = fields.only("op", "branches").list("branches");
    if (branches.length < 1 || branches.length > MOST_LAYERS) {
      throw new BundleError(`layer ${op}: it needs a list of branches; train again`);
    }
    return new Concatenation(branches.map((each) => readLayers(each, tensors, depth + 1)));
  }
  const read = SIMPLE.get(op);
  if (!read) throw new BundleError("a layer is none of those this version knows; train again or upgrade");
  return read(fields, tensors);
}
