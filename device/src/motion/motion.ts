// A phone's motion sensors behind a protector: raw readings go in, listeners get released readings.
import { Bundle, type Imported } from "../bundle";
import type { Host } from "../host";
import { Ledger, type Remaining } from "../ledger";
import type { Reading } from "./reading";
import { type Choices, Slots, type WhenMissing } from "./slots";
import { type Sensors, type Shown, Source, type Timers } from "./source";
import type { Status } from "./status";

/** What an app may choose; the policy decides everything else. */
export interface Options {
  readonly whenMissing?: WhenMissing;
}

/** What an app can show about its protection. */
export type Protection = Pick<Motion, "status" | "onstatus" | "remaining">;

/** Sensors run while anyone listens; each draw belongs to a slot of time, so extra listeners cause no extra draws. */
export class Motion {
  private readonly slots: Slots;
  private readonly source: Source;

  constructor(
    protector: Imported | Bundle,
    private readonly host: Host,
    sensors: Sensors,
    { whenMissing = "nothing" }: Options = {},
    private readonly timers = globalThis as unknown as Timers,
  ) {
    const bundle = protector instanceof Bundle ? protector : new Bundle(protector);
    const { hold, budget, whenSpent } = bundle.policy;
    const choices: Choices = {
      hold,
      uncovered: "rest",
      whenSpent: whenSpent ?? "nothing",
      whenMissing,
      random: host.random.bind(host),
    };
    this.slots = new Slots(bundle, new Ledger(host.store, budget), choices);
    this.source = new Source(this.slots, sensors, () => host.now(), timers);
  }

  get status(): Status {
    return this.slots.status;
  }

  /** Called whenever the status changes. */
  get onstatus(): ((status: Status) => void) | null {
    return this.slots.onstatus;
  }

  set onstatus(handler: ((status: Status) => void) | null) {
    this.slots.onstatus = handler;
  }

  /** What the budget still allows. */
  remaining(): Promise<Remaining> {
    return this.slots.remaining(this.host.now());
  }

  /** Calls back at this interval, by the clock and never by the readings; returns how to stop. */
  listen(listener: (reading: Reading, now: number) => void, intervalMs: number): () => void {
    let latest: Shown | null = null;
    const unsubscribe = this.source.subscribe((shown) => (latest = shown));
    const stop = this.repeat(intervalMs, () => {
      const now = this.host.now();
      const reading = latest && readingAt(latest, now);
      if (reading) listener(reading, now);
    });
    return () => {
      stop();
      unsubscribe();
    };
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

/** The reading for this moment; null before the slot, or where the next window is more than two readings late. */
function readingAt({ slot, slotMs, readings }: Shown, now: number): Reading | null {
  const place = Math.floor(((now - slot * slotMs) * readings.length) / slotMs);
  return place < 0 || place > readings.length + 1 ? null : readings[Math.min(place, readings.length - 1)]!;
}
