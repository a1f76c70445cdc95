// A phone's motion sensors behind a protector: raw readings go in, listeners get released readings.
import { Bundle, type Imported, type Policy, type WhenMissing } from "../bundle";
import type { Host } from "../host";
import { Ledger, type Remaining } from "../ledger";
import { Playback } from "./playback";
import type { Reading } from "./reading";
import { type Choices, Slots } from "./slots";
import { type Sensors, Source, type Timers } from "./source";
import type { Status } from "./status";

const HELD_STEPS = 2; // a window is released a moment after its slot has begun

/** What an app may choose; the policy decides everything else. */
export interface Options {
  /** By default as the policy says; a policy that shows nothing is not overruled. */
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
    options: Options = {},
    private readonly timers = globalThis as unknown as Timers,
  ) {
    const bundle = protector instanceof Bundle ? protector : new Bundle(protector);
    const { hold, budget, whenSpent } = bundle.policy;
    const choices: Choices = {
      hold,
      uncovered: "rest",
      whenSpent: whenSpent ?? "nothing",
      whenMissing: whenMissingOf(bundle.policy, options),
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
    const playback = new Playback(HELD_STEPS);
    const unsubscribe = this.source.subscribe((shown) => playback.add(shown));
    const stop = this.repeat(intervalMs, () => {
      const now = this.host.now();
      const step = playback.at(now);
      if (step) listener(step.reading, now);
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

function whenMissingOf(policy: Policy, options: Options): WhenMissing {
  if (policy.whenMissing === "nothing") return "nothing";
  return options.whenMissing ?? policy.whenMissing ?? "nothing";
}
