// Layers from a manifest: the closed vocabulary. What is not in it cannot be run.
import { BundleError } from "../errors";
import type { Json } from "../json";
import { Record } from "../record";
import type { TensorReader } from "../tensors";
import { argmax } from "./decision";
import { type Layer, chain } from "./layer";
import { affine, convolution, spectrum, statistics } from "./products";
import { quantise, round, scale, table } from "./rounding";
import { concatenation, flatten, residual, unflatten } from "./structure";

const SIMPLE = new Map<string, (fields: Record, tensors: TensorReader) => Layer>(
  Object.entries({ affine, argmax, convolution, flatten, quantise, round, scale, spectrum, statistics, table, unflatten }),
);
const MOST_LAYERS = 256; // of a network, those in branches included
const DEEPEST = 4; // chains inside chains

/** The layers that a list of JSON objects names; few enough, and not nested without end. */
export function readLayers(listed: Json | undefined, tensors: TensorReader): Layer[] {
  let left = MOST_LAYERS;

  function several(listed: Json | undefined, depth: number): Layer[] {
    left -= Array.isArray(listed) ? listed.length : 0;
    if (!Array.isArray(listed) || left < 0 || depth > DEEPEST) {
      throw new BundleError(`a network must be a list of at most ${MOST_LAYERS} layers, ${DEEPEST} deep; train again`);
    }
    return listed.map((fields) => one(new Record(fields, "layer"), depth));
  }

  function one(fields: Record, depth: number): Layer {
    const op = fields.text("op");
    if (op === "residual") return residual(chain(several(fields.only("op", "layers").get("layers"), depth + 1)));
    if (op === "concatenation") {
      const branches = fields.only("op", "branches").list("branches");
      if (branches.length < 1 || branches.length > MOST_LAYERS) {
        throw new BundleError(`layer ${op}: it needs a list of branches; train again`);
      }
      return concatenation(branches.map((each) => chain(several(each, depth + 1))));
    }
    const read = SIMPLE.get(op);
    if (!read) throw new BundleError("a layer is none of those this version knows; train again or upgrade");
    return read(fields, tensors);
  }

  return several(listed, 0);
}
