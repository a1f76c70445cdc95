// Layers that arrange others: flat rows to series and back, branches side by side, a way around.
import { BundleError } from "../errors";
import type { Record } from "../record";
import { type Layer, type Row, NEARLY, bounded, flat, requireFloat32, series } from "./layer";

/** A flat window (time · channels + channel) to a series (time, channel). */
export function unflatten(fields: Record): Layer {
  const channels = fields.only("op", "channels").integer("channels");
  return (given) => {
    const values = flat(given, "unflatten");
    if (channels < 1 || values % channels) {
      throw new BundleError(`layer unflatten: ${channels} channels do not divide a row; train again`);
    }
    return { run: (row) => row, reach: { ...given, shape: [values / channels, channels] }, work: 0 };
  };
}

/** A series (time, channel) to a flat row, channel fastest. */
export function flatten(fields: Record): Layer {
  fields.only("op");
  return (given) => {
    const [time, channels] = series(given, "flatten");
    return { run: (row) => row, reach: { ...given, shape: [time * channels] }, work: 0 };
  };
}

/** Several chains of layers on the same row, their flat results side by side; an empty chain is the row itself. */
export function concatenation(branches: readonly Layer[]): Layer {
  return (given) => {
    const chains = branches.map((branch) => branch(given));
    chains.forEach(({ reach }) => requireFloat32(reach, "concatenation"));
    const shape = bounded([chains.reduce((sum, { reach }) => sum + flat(reach, "concatenation"), 0)], "concatenation");
    const [runs, width] = [chains.map(({ run }) => run), shape[0]!];
    const most = beside(chains.map(({ reach }) => reach.most), width);
    return {
      run: (row) => beside(runs.map((run) => run(row)), width),
      reach: { shape, most, whole: chains.every(({ reach }) => reach.whole), wide: false },
      work: chains.reduce((sum, { work }) => sum + work, width),
    };
  };
}

function beside(parts: readonly Row[], width: number): Row {
  const result = new Float64Array(width);
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

/** x + layers(x), in float32. */
export function residual(layers: Layer): Layer {
  return (given) => {
    const { run, reach, work } = layers(given);
    if (String(reach.shape) !== String(given.shape)) {
      throw new BundleError("layer residual: what is added has another shape; train again");
    }
    const whole = given.whole && reach.whole;
    const most = given.most.map((value, at) => (value + reach.most[at]!) * (whole ? 1 : NEARLY));
    const sum = { ...given, most, whole };
    for (const each of [given, reach, sum]) requireFloat32(each, "residual");
    const added = (row: Row, result: Row): Row => row.map((value, at) => Math.fround(value + result[at]!));
    return { run: (row) => added(row, run(row)), reach: sum, work: most.length + work };
  };
}
