// Runs the sensors while anyone is subscribed, and passes on each released window at the start of its slot.
import type { Stream } from "./channels";
import type { Shown } from "./playback";
import type { Reading } from "./reading";
import type { Slots } from "./slots";

/** Readings of the platform, in m/s² and degrees per second; a platform may report its streams one by one. */
export type Raw = { readonly [name in Stream]?: Reading[name] };

export interface Sensors {
  /** Reads these streams at this interval until the returned function is called. */
  start(streams: ReadonlySet<Stream>, intervalMs: number, read: (raw: Raw) => void): () => void;
}

/** Every phone's engine has timers, but no version of the language does. */
export interface Timers {
  setTimeout(act: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

interface Subscribed {
  readonly listener: (shown: Shown) => void;
  /** The slot of its first window, which does not depend on other subscribers. */
  begins: number;
}

export class Source {
  private readonly subscribed = new Set<Subscribed>();
  private stop: (() => void) | null = null;

  constructor(
    private readonly slots: Slots,
    private readonly sensors: Sensors,
    private readonly now: () => number,
    private readonly timers: Timers,
  ) {}

  /** Counts from `asked`, when the listener wanted its first window; returns how to unsubscribe. */
  subscribe(listener: (shown: Shown) => void, asked = this.now()): () => void {
    this.stop ??= this.start();
    const each = { listener, begins: this.slots.begins(asked) };
    this.subscribed.add(each);
    return () => {
      this.subscribed.delete(each);
      if (this.subscribed.size) return;
      this.stop?.();
      this.stop = null;
    };
  }

  private start(): () => void {
    const { slots } = this;
    const { covered, rateHz } = slots;
    const silence = this.sensors.start(covered, 1000 / rateHz, (raw) => slots.read(raw, this.now()));
    slots.start(this.now());
    let timer: unknown;
    const wait = (slot: number): void => {
      const end = slots.startOf(slot + 1);
      timer = this.timers.setTimeout(() => {
        const now = this.now();
        wait(slots.at(now));
        if (slots.at(now) !== slot) void this.deliver(slot, now); // else the timer came early
      }, end - this.now());
    };
    wait(slots.at(this.now()));
    return () => {
      silence();
      this.timers.clearTimeout(timer);
      slots.stop();
    };
  }

  /** At the end of every slot, whatever was read in it: when windows leave says nothing about the readings. */
  private async deliver(slot: number, now: number): Promise<void> {
    const { slotMs } = this.slots;
    if (this.slots.at(now) < slot) this.subscribed.forEach((each) => (each.begins = this.slots.begins(now)));
    const readings = await this.slots.release(slot, now);
    if (!readings) return;
    for (const { listener, begins } of this.subscribed) {
      if (begins <= slot + 1) listener({ slot: slot + 1, through: slot + 1, slotMs, readings });
    }
  }
}
