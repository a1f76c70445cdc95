// Cuts the device's stream into slots of public time: raw readings go in, one released window per slot comes out.
import type { Bundle, WhenMissing, WhenSpent } from "../bundle";
import type { Hold } from "../episodes";
import { StoreError } from "../errors";
import type { Host } from "../host";
import type { Ledger } from "../ledger";
import { Pipe, type Released } from "../pipe";
import { Channels, type Stream } from "./channels";
import { Consistent, type Uncovered } from "./consistent";
import type { Reading, Vector } from "./reading";
import { Sampler } from "./sampler";
import { type State, type Status, STOPPED } from "./status";

const SILENT_MS = 1500; // without a reading for this long, a sensor is missing

export interface Choices {
  readonly hold: Hold;
  readonly uncovered: Uncovered;
  readonly whenSpent: WhenSpent;
  /** "nothing" unless given: made-up motion is not shown for a sensor that a phone lacks. */
  readonly whenMissing?: WhenMissing;
  /** The host's random bits; by default the engine's own. */
  readonly random?: Host["random"];
}

/** Which readings a page can have at all. */
export interface Available {
  readonly acceleration: boolean;
  readonly rotationRate: boolean;
  readonly orientation: boolean;
}

/** Slots are counted on the public clock, so their times reveal nothing about who listens. */
export class Slots {
  /** Called whenever the status changes. */
  onstatus: ((status: Status) => void) | null = null;
  private readonly channels: Channels;
  private readonly pipe: Pipe;
  private readonly sampler: Sampler;
  private readonly consistent: Consistent;
  private readonly complete = new Map<number, Float64Array>();
  private readonly lastRead = new Map<Stream, number>();
  private started = 0;
  private first = Infinity; // the first slot whose readings are all seen
  private current = STOPPED;

  constructor(
    private readonly bundle: Bundle,
    private readonly ledger: Ledger,
    private readonly choices: Choices,
  ) {
    this.channels = new Channels(bundle.places);
    this.pipe = new Pipe(bundle, ledger, choices.hold, choices.whenSpent, choices.random);
    this.sampler = new Sampler(bundle.policy.schema, 0);
    this.consistent = new Consistent(choices.uncovered);
  }

  get available(): Available {
    const [{ covered }, rest] = [this.channels, this.choices.uncovered === "rest"];
    const withGravity = covered.has("accelerationIncludingGravity");
    return {
      acceleration: rest || withGravity || covered.has("acceleration"),
      rotationRate: rest || covered.has("rotationRate"),
      orientation: rest || withGravity,
    };
  }

  /** Streams that the policy reads. */
  get covered(): ReadonlySet<Stream> {
    return this.channels.covered;
  }

  /** Readings per second. */
  get rateHz(): number {
    return this.bundle.policy.schema.rateHz;
  }

  get slotMs(): number {
    return this.sampler.slotMs;
  }

  get status(): Status {
    return this.current;
  }

  /** What the budget still allows. */
  remaining(now: number): ReturnType<Ledger["remaining"]> {
    return this.ledger.remaining(this.bundle.promise.charge, now);
  }

  at(now: number): number {
    return this.sampler.slotAt(now);
  }

  startOf(slot: number): number {
    return this.sampler.startOf(slot);
  }

  /** The slot in which a listener that starts now gets its first window, whether or not anyone listened before. */
  begins(now: number): number {
    return this.pipe.begins(this.at(now) + 1);
  }

  /** When the present episode ends: forgetting its draw earlier would allow a second one. */
  episodeEnd(now: number): number {
    const { windows } = this.choices.hold;
    return this.startOf((Math.floor(this.at(now) / windows) + 1) * windows);
  }

  start(now: number): void {
    this.begin("starting", now);
  }

  stop(): void {
    this.first = Infinity;
    this.setState("stopped");
  }

  /** Takes a raw reading of some streams; false where it lacks a channel that the policy reads. */
  read(raw: { readonly [name in Stream]?: Vector | null }, now: number): boolean {
    const values = this.channels.sample(raw);
    const lacking = new Set(
      this.channels.places.filter((_, at) => Number.isNaN(values[at])).map(({ stream }) => stream),
    );
    for (const stream of this.covered) if (!lacking.has(stream)) this.lastRead.set(stream, now);
    this.advance(now);
    this.sampler.read(values);
    return !lacking.size;
  }

  /** Ends a slot; returns what is shown in the next one, or null where nothing may leave. */
  async release(slot: number, now: number): Promise<Reading[] | null> {
    if (this.at(now) <= slot) {
      this.begin("clock-moved", now);
      return null;
    }
    this.advance(now);
    const window = this.complete.get(slot) ?? null;
    this.complete.clear();
    if (slot < this.first) return null;
    const missing = [...this.covered].filter((stream) => !this.lastRead.has(stream));
    if (missing.length && this.choices.whenMissing !== "placeholder") {
      if (now - this.started > SILENT_MS) this.setState("sensor-missing", { missing });
      return null;
    }
    try {
      const released = await this.pipe.push(slot, window, now);
      if (this.first <= slot) this.report(released, slot, now);
      return released.window && this.readings(released.window, this.startOf(slot + 1));
    } catch (error) {
      const state = error instanceof StoreError ? "store-failed" : "failed";
      if (this.first <= slot) this.setState(state, { reason: String(error) });
      return null;
    }
  }

  private begin(state: State, now: number): void {
    this.started = now;
    this.first = this.at(now) + 1;
    this.complete.clear();
    this.lastRead.clear();
    this.setState(state, { secondsToFirstWindow: (this.startOf(this.begins(now)) - now) / 1000 });
  }

  private report({ kind }: Released, slot: number, now: number): void {
    const silent = Math.max(SILENT_MS, this.slotMs);
    const missing = [...this.covered].filter((stream) => now - (this.lastRead.get(stream) ?? this.started) > silent);
    if (kind === "budget-spent") this.setState("budget-spent", { missing });
    else if (missing.length) this.setState("sensor-missing", { missing });
    else if (kind === "live" || slot + 1 >= this.begins(this.started)) this.setState(kind);
  }

  private setState(state: State, more: Partial<Status> = {}): void {
    const status = { ...STOPPED, ...more, state };
    if (JSON.stringify(status) === JSON.stringify(this.current)) return;
    this.current = status;
    // Later, so that a handler that throws stops nothing.
    void Promise.resolve().then(() => this.onstatus?.(status));
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
