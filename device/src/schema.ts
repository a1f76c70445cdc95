// What a stream looks like: channels, rate and window length; public facts only.
import { rint } from "./rounding";

export interface Channel {
  readonly name: string;
  readonly unit: string;
  readonly low: number;
  readonly high: number;
  readonly resolution: number | null;
}

/** A window is `window` samples of all channels, flat with the channel fastest. */
export class Schema {
  constructor(readonly channels: readonly Channel[], readonly rateHz: number, readonly window: number) {}

  /** Values in one window. */
  get dim(): number {
    return this.window * this.channels.length;
  }

  /** Clip to the public range and map it to [0, 1]; what is no number stays none, and the encoder takes it. */
  scale(samples: Float64Array): Float64Array {
    return samples.map((value, at) => {
      const { low, high } = this.channel(at);
      return (Math.min(Math.max(value, low), high) - low) / (high - low);
    });
  }

  /** From [0, 1] back to units, inside the range and on the sensor's resolution: post-processing. */
  unscale(scaled: Float64Array): Float64Array {
    return scaled.map((value, at) => {
      const { low, high, resolution } = this.channel(at);
      const sample = low + Math.min(Math.max(value, 0), 1) * (high - low);
      return Math.min(Math.max(resolution === null ? sample : snapped(sample, resolution), low), high);
    });
  }

  private channel(at: number): Channel {
    return this.channels[at % this.channels.length]!;
  }
}

/** On the grid of the resolution, without the binary dust of steps · resolution. */
function snapped(sample: number, resolution: number): number {
  const digits = 10 ** Math.max(0, 3 - Math.floor(Math.log10(resolution)));
  return rint(rint(sample / resolution) * resolution * digits) / digits;
}
