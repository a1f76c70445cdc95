// Maps a policy's channels to the axes of the platform's motion streams.
import type { Vector } from "./reading";

export const STREAMS = ["accelerationIncludingGravity", "acceleration", "rotationRate"] as const;
export type Stream = (typeof STREAMS)[number];

/** A channel is one axis of a stream; one of its units is `factor` of the platform's. */
export interface Place {
  readonly stream: Stream;
  readonly axis: 0 | 1 | 2;
  readonly factor: number;
}

/** The channels of a bundle as places of the platform, written by `deeprotect export`. */
export class Channels {
  readonly covered: ReadonlySet<Stream>;

  constructor(readonly places: readonly Place[]) {
    this.covered = new Set(places.map((place) => place.stream));
  }

  /** One value per channel in the policy's units; NaN where the platform gives no finite number. */
  sample(raw: { readonly [name in Stream]?: Vector | null }): number[] {
    return this.places.map(({ stream, axis, factor }) => {
      const value = raw[stream]?.[axis] ?? NaN;
      return Number.isFinite(value) ? value / factor : NaN;
    });
  }

  /** A released sample as the platform's streams; axes that no channel covers rest. */
  streams(sample: ArrayLike<number>): { [name in Stream]?: Vector } {
    const found: { [name in Stream]?: [number, number, number] } = {};
    this.places.forEach(({ stream, axis, factor }, at) => {
      found[stream] ??= [0, 0, 0];
      found[stream][axis] = sample[at]! * factor;
    });
    return found;
  }
}
