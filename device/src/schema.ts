// The shape of a stream: channels, rate and window length, all public.
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
  constructor(
    readonly channels: readonly Channel[],
    readonly rateHz: number,
    readonly window: number,
  ) {}

  /** Values per window. */
  get dim(): number {
    return this.window * this.channels.length;
  }

  /** Clips to the public range and maps it to [0, 1]; NaN stays NaN, which the encoder accepts. */
  scale(samples: Float64Array): Float64Array {
    return samples.map((value, at) => {
      const { low, high } = this.channel(at);
      return (Math.min(Math.max(value, low), high) - low) / (high - low);
    });
  }

  /** Maps [0, 1] back to units, within the range and on the sensor's resolution: post-processing. */
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

/** Rounds to the resolution, without the binary rounding error of steps · resolution. */
function snapped(sample: number, resolution: number): number {
  const digits = 10 ** Math.max(0, 3 - Math.floor(Math.log10(resolution)));
  return rint(rint(sample / resolution) * resolution * digits) / digits;
}
