// Layers that arrange others, and the closed vocabulary of all of them: what is not in it cannot be run.
import { BundleError } from "../errors";
import type { TensorReader } from "../tensors";
import { argmax } from "./decision";
import { erase } from "./erasing";
import { type Fields, type Maker, type Prepared, type Row, type Shape, sizeOf } from "./layer";
import { affine, convolution, spectrum, statistics } from "./products";
import { quantise, round, scale, table } from "./rounding";

/** A flat window (time · channels + channel) to a series (time, channel). */
function unflatten({ channels }: Fields, _: TensorReader, given: Shape): Prepared {
  return { run: (row) => row, shape: [given[0]! / channels, channels] };
}

/** A series (time, channel) to a flat row, channel fastest. */
function flatten(_: Fields, __: TensorReader, given: Shape): Prepared {
  return { run: (row) => row, shape: [sizeOf(given)] };
}

/** Several chains of layers on the same row, their flat results side by side; an empty chain is the row itself. */
function concatenation({ branches }: Fields, tensors: TensorReader, given: Shape): Prepared {
  const chains = (branches as Fields[][]).map((branch) => chain(branch, tensors, given));
  const width = chains.reduce((sum, { shape }) => sum + shape[0]!, 0);

  function run(row: Row): Row {
    const result = new Float64Array(width);
    let end = 0;
    for (const { run, shape } of chains) {
      result.set(run(row), end);
      end += shape[0]!;
    }
    return result;
  }

  return { run, shape: [width] };
}

/** x + layers(x), in float32. */
function residual({ layers }: Fields, tensors: TensorReader, shape: Shape): Prepared {
  const { run } = chain(layers, tensors, shape);
  const added = (row: Row, result: Row): Row => row.map((value, at) => Math.fround(value + result[at]!));
  return { run: (row) => added(row, run(row)), shape };
}

const VOCABULARY = new Map<string, Maker>(
  Object.entries({
    affine,
    argmax,
    concatenation,
    convolution,
    erase,
    flatten,
    quantise,
    residual,
    round,
    scale,
    spectrum,
    statistics,
    table,
    unflatten,
  }),
);

/** All layers in turn as one. */
export function chain(listed: readonly Fields[], tensors: TensorReader, given: Shape): Prepared {
  let shape = given;
  const runs = listed.map((fields) => {
    const make = VOCABULARY.get(fields.op);
    if (!make) throw new BundleError("a layer is none of those this version knows; upgrade");
    const prepared = make(fields, tensors, shape);
    shape = prepared.shape;
    return prepared;
  });
  const decide = runs[runs.length - 1]?.decide;
  return { run: (row) => runs.reduce((values, { run }) => run(values), row), shape, ...(decide ? { decide } : {}) };
}
