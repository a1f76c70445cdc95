// Which of the platform's streams a policy's channels are.
import { BundleError } from "../errors";
import type { Json } from "../json";
import { Record } from "../record";
import type { Schema } from "../schema";
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

  private constructor(readonly places: readonly Place[]) {
    this.covered = new Set(places.map((place) => place.stream));
  }

  static read(listed: Json, schema: Schema): Channels {
    if (!Array.isArray(listed) || listed.length !== schema.channels.length) {
      throw new BundleError("platform.json must place each channel of the bundle; export it again");
    }
    return new Channels(listed.map((fields) => readPlace(new Record(fields, "platform.json"))));
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

function readPlace(record: Record): Place {
  record.only("stream", "axis", "factor");
  const stream = STREAMS.find((name) => name === record.text("stream"));
  const [axis, factor] = [record.integer("axis"), record.number("factor")];
  if (!stream || axis < 0 || axis > 2 || !(factor > 0)) throw new BundleError("platform.json cannot be read; export it again");
  return { stream, axis: axis as 0 | 1 | 2, factor };
}
