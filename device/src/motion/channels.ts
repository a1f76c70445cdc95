// Which of the platform's streams a policy's channels are.
import type { Reading, Vector } from "./reading";

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

  /** One sample of every channel in the policy's units; null where the platform has not got one of them. */
  sample(raw: Pick<Reading, Stream>): number[] | null {
    const values = this.places.map(({ stream, axis, factor }) => (raw[stream]?.[axis] ?? NaN) / factor);
    return values.some(Number.isNaN) ? null : values;
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
