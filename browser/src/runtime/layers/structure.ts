// Layers that arrange others: flat rows to series and back, branches side by side, a way around.
import { BundleError } from "../errors";
import type { Record } from "../record";
import { type Chain, type Layer, type Shape, bounded, flat, series } from "./layer";

/** A flat window (time · channels + channel) to a series (time, channel). */
export class Unflatten implements Layer {
  readonly op = "unflatten";

  private constructor(private readonly channels: number) {}

  static read(fields: Record): Unflatten {
    return new Unflatten(fields.only("op", "channels").integer("channels"));
  }

  shape(given: Shape): Shape {
    const values = flat(given, this.op);
    if (this.channels < 1 || values % this.channels) {
      throw new BundleError(`layer ${this.op}: ${this.channels} channels do not divide a row; train again`);
    }
    return [values / this.channels, this.channels];
  }

  run(row: Float32Array): Float32Array {
    return row;
  }
}

/** A series (time, channel) to a flat row, channel fastest. */
export class Flatten implements Layer {
  readonly op = "flatten";

  static read(fields: Record): Flatten {
    fields.only("op");
    return new Flatten();
  }

  shape(given: Shape): Shape {
    const [time, channels] = series(given, this.op);
    return [time * channels];
  }

  run(row: Float32Array): Float32Array {
    return row;
  }
}

/** Several chains of layers on the same row, their flat results side by side; an empty chain is the row itself. */
export class Concatenation implements Layer {
  static readonly op = "concatenation";
  readonly op = Concatenation.op;

  constructor(private readonly branches: readonly Chain[]) {}

  shape(given: Shape): Shape {
    const widths = this.branches.map((branch) => flat(branch.shape(given), this.op));
    return bounded([widths.reduce((sum, width) => sum + width, 0)], this.op);
  }

  run(row: Float32Array): Float32Array {
    const parts = this.branches.map((branch) => branch.run(row));
    const result = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      result.set(part, at);
      at += part.length;
    }
    return result;
  }
}

/** x + layers(x). */
export class Residual implements Layer {
  static readonly op = "residual";
  readonly op = Residual.op;

  constructor(private readonly added: Chain) {}

  shape(given: Shape): Shape {
    const result = this.added.shape(given);
    if (result.length !== given.length || result.some((axis, index) => axis !== given[index])) {
      throw new BundleError(`layer ${this.op}: what is added has another shape; train again`);
    }
    return given;
  }

  run(row: Float32Array): Float32Array {
    const added = this.added.run(row);
    return row.map((value, at) => value + added[at]!);
  }
}
