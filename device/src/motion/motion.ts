// A phone's motion sensors behind the protector: raw readings go in, and whoever listens gets what was released.
import { Bundle, type Imported } from "../bundle";
import type { Host } from "../host";
import { Ledger } from "../ledger";
import type { Stream } from "./channels";
import { NOTHING, type Reading } from "./reading";
import { type Choices, Slots } from "./slots";

/** Raw streams of the platform, in m/s² and degrees per second. */
export type Raw = { readonly [name in Stream]?: Reading[name] };

export interface Sensors {
  /** Read these streams so often until the returned function is called. */
  start(streams: ReadonlySet<Stream>, intervalMs: number, read: (raw: Raw) => void): () => void;
}

/** Timers are in every engine of a phone, but in no version of the language. */
export interface Timers {
  setTimeout(act: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

type Listener = (reading: Reading, now: number) => void;

/** Sensors run while somebody listens; a draw is made for a slot of time, however many listen and however often. */
export class Motion {
  readonly slots: Slots;
  private readonly listeners = new Set<object>();
  private latest: Raw = {};
  private playing: { readonly start: number; readonly readings: readonly Reading[] } | null = null;
  private stop: (() => void) | null = null;

  constructor(
    protector: Imported | Bundle,
    private readonly host: Host,
    private readonly sensors: Sensors,
    private readonly timers = globalThis as unknown as Timers,
  ) {
    const bundle = protector instanceof Bundle ? protector : new Bundle(protector);
    const { hold, budget, whenSpent } = bundle.policy;
    const choices: Choices = { hold, uncovered: "rest", whenSpent: whenSpent ?? "nothing", random: host.random };
    this.slots = new Slots(bundle, new Ledger(host.store, budget), choices);
  }

  /** Told so often what was released, by the clock and never by the readings; gives back how to stop. */
  listen(listener: Listener, intervalMs: number): () => void {
    const each = {};
    this.listeners.add(each);
    this.stop ??= this.start();
    const begins = this.slots.begins(this.host.now()) * this.slots.slotMs;
    const stop = this.repeat(intervalMs, () => this.tell(listener, begins));
    return () => {
      stop();
      this.listeners.delete(each);
      if (this.listeners.size) return;
      this.stop?.();
      this.stop = this.playing = null;
    };
  }

  private tell(listener: Listener, begins: number): void {
    const now = this.host.now();
    const reading = now < begins ? null : this.shown(now);
    if (reading) listener(reading, now);
  }

  /** What plays now; silence where the next window is more than a moment late. */
  private shown(now: number): Reading | null {
    if (!this.playing) return null;
    const { start, readings } = this.playing;
    const place = Math.floor(((now - start) * this.slots.rateHz) / 1000);
    return place < 0 || place > readings.length + 1 ? null : (readings[Math.min(place, readings.length - 1)] ?? null);
  }

  private start(): () => void {
    this.slots.start(this.host.now());
    const silent = this.sensors.start(this.slots.covered, 1000 / this.slots.rateHz, (raw) => this.read(raw));
    let slot = this.slots.at(this.host.now());
    const still = this.repeat(1000 / this.slots.rateHz, () => {
      const at = this.slots.at(this.host.now());
      if (at === slot) return;
      void this.hand(slot);
      slot = at;
    });
    return () => {
      silent();
      still();
    };
  }

  /** A platform tells of its streams one by one: the latest of each is what is there. */
  private read(raw: Raw): void {
    this.latest = { ...this.latest, ...raw };
    this.slots.read({ ...NOTHING, ...this.latest }, this.host.now());
  }

  private async hand(slot: number): Promise<void> {
    const readings = await this.slots.release(slot, this.host.now()).catch(() => null); // silence, whatever failed
    if (readings) this.playing = { start: (slot + 1) * this.slots.slotMs, readings };
  }

  private repeat(ms: number, act: () => void): () => void {
    let timer: unknown;
    const again = (): void => {
      timer = this.timers.setTimeout(() => {
        again();
        act();
      }, ms);
    };
    again();
    return () => this.timers.clearTimeout(timer);
  }
}
