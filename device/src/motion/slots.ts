// The device's stream in slots of public time: raw readings go in, and for each slot one released window comes out.
import type { Bundle, WhenSpent } from "../bundle";
import type { Hold } from "../episodes";
import type { Host } from "../host";
import type { Ledger } from "../ledger";
import { Pipe } from "../pipe";
import { Channels, type Stream } from "./channels";
import { Consistent, type Uncovered } from "./consistent";
import type { Reading } from "./reading";
import { Sampler } from "./sampler";

export interface Choices {
  readonly hold: Hold;
  readonly uncovered: Uncovered;
  readonly whenSpent: WhenSpent;
  /** The host's random bits; the engine's own where it has some. */
  readonly random?: Host["random"];
}

/** What can be had at all. */
export interface Available {
  readonly acceleration: boolean;
  readonly rotationRate: boolean;
  readonly orientation: boolean;
}

/** Slots are counted on the clock that everybody has, so that their place tells nothing of who listens. */
export class Slots {
  private readonly channels: Channels;
  private readonly pipe: Pipe;
  private readonly sampler: Sampler;
  private readonly consistent: Consistent;
  private readonly complete = new Map<number, Float64Array>();
  private first = Infinity; // the first slot that is heard as a whole

  constructor(private readonly bundle: Bundle, ledger: Ledger, private readonly choices: Choices) {
    this.channels = new Channels(bundle.places);
    this.pipe = new Pipe(bundle, ledger, choices.hold, choices.whenSpent, choices.random);
    this.sampler = new Sampler(bundle.policy.schema, 0);
    this.consistent = new Consistent(choices.uncovered);
  }

  get available(): Available {
    const [{ covered }, rest] = [this.channels, this.choices.uncovered === "rest"];
    const felt = covered.has("accelerationIncludingGravity");
    return {
      acceleration: rest || felt || covered.has("acceleration"),
      rotationRate: rest || covered.has("rotationRate"),
      orientation: rest || felt,
    };
  }

  /** Streams that the policy reads. */
  get covered(): ReadonlySet<Stream> {
    return this.channels.covered;
  }

  /** Readings in a second. */
  get rateHz(): number {
    return this.bundle.policy.schema.rateHz;
  }

  get slotMs(): number {
    return this.sampler.slotMs;
  }

  at(now: number): number {
    return this.sampler.slotAt(now);
  }

  /** The slot in which whoever begins to listen now gets the first window, whether or not somebody listened before. */
  begins(now: number): number {
    return this.pipe.begins(this.at(now) + 1);
  }

  /** When the present episode is over: whoever forgets its draw before could make another. */
  episodeEnd(now: number): number {
    const { windows } = this.choices.hold;
    return this.sampler.startOf((Math.floor(this.at(now) / windows) + 1) * windows);
  }

  start(now: number): void {
    this.first = this.at(now) + 1;
  }

  /** A raw reading of the platform; false where it lacks a channel that the policy names, so that nothing can leave. */
  read(raw: Pick<Reading, Stream>, now: number): boolean {
    const values = this.channels.sample(raw);
    this.advance(now);
    if (values) this.sampler.read(values);
    return values !== null;
  }

  /** A slot is over: what is shown in the next one. A slot without a reading is released like any other. */
  async release(slot: number, now: number): Promise<Reading[] | null> {
    this.advance(now);
    const window = this.complete.get(slot) ?? null;
    this.complete.clear();
    if (slot < this.first) return null;
    const released = await this.pipe.push(slot, window, Date.now());
    return released && this.readings(released, this.sampler.startOf(slot + 1));
  }

  private advance(now: number): void {
    for (const { slot, samples } of this.sampler.advance(now)) this.complete.set(slot, samples);
  }

  private readings(window: Float64Array, start: number): Reading[] {
    const { channels, window: samples } = this.bundle.policy.schema;
    return Array.from({ length: samples }, (_, at) => {
      const row = window.subarray(at * channels.length, (at + 1) * channels.length);
      return this.consistent.reading(this.channels.streams(row), start + (at * 1000) / this.rateHz);
    });
  }
}
