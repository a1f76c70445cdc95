// The browser's motion sensors behind the protector: raw readings go in, and each subscriber gets what was released.
import { type Available, Consistent, NOTHING, type Raw, type Reading, type Sensors, type Shown, type Slots, Source, type Status, type Vector, type WhenSpent, coarse } from "deeprotect";

const STARTING_MS = 1000; // what sensors and the document that reads them may take to start, where windows are as long
const SILENT_MS = 1500; // without a reading for this long there is no sensor
const RETRY_MS = 3000;
const FASTEST_HZ = 60; // of the platform

/** What is to be played, in equal steps, in a slot of time, and again in those up to `through`. */
export type Window = Shown & { readonly kind: "window"; readonly through: number };

export type Said =
  | { readonly kind: "active"; readonly available: Available }
  | { readonly kind: "unavailable" }
  | { readonly kind: "status"; readonly status: Status }
  | Window;

type Listener = (said: Said) => void;

interface Subscribed {
  readonly listener: Listener;
  /** Whether it was told that there is a sensor; null before it was told anything. */
  told: boolean | null;
  begun: boolean;
  /** The state that it was told last. */
  state: Status["state"] | null;
}

/** How to listen to events of the browser itself; a page's own functions may be others. */
export interface Natives {
  add(type: string, listener: (event: DeviceMotionEvent) => void): void;
  remove(type: string, listener: (event: DeviceMotionEvent) => void): void;
}

/** Whether this device is known to have motion sensors. */
export interface Memory {
  has: boolean;
}

/** Sensors run while anyone is subscribed. Until its first window a subscriber is shown a phone at rest. */
export class Stream {
  /** Called whenever the status changes. */
  onstatus: ((status: Status) => void) | null = null;
  private readonly subscribed = new Set<Subscribed>();
  private readonly source: Source;
  private heard = false;
  /** As it was at first: what others read meanwhile changes nothing. */
  private readonly known: boolean;

  constructor(
    private readonly slots: Slots,
    private readonly natives: Natives,
    private readonly whenSpent: WhenSpent,
    private readonly memory: Memory = { has: false },
  ) {
    this.known = memory.has;
    this.source = new Source(slots, this.sensors(), Date.now, globalThis);
    slots.onstatus = (status) => {
      this.onstatus?.(status);
      for (const each of this.subscribed) if (each.begun) this.tellStatus(each);
    };
  }

  get status(): Status {
    return this.slots.status;
  }

  /** When what this stream knows may be forgotten. */
  get episodeEnd(): number {
    return this.slots.episodeEnd(Date.now());
  }

  at(now: number): number {
    return this.slots.at(now);
  }

  /** `asked` is when; returns how to unsubscribe. */
  subscribe(listener: Listener, asked = Date.now()): () => void {
    const { slots } = this;
    const starts = asked + (slots.slotMs < STARTING_MS ? 0 : STARTING_MS);
    const begins = slots.begins(starts);
    const each: Subscribed = { listener, told: null, begun: false, state: null };
    this.subscribed.add(each);
    const waiting = { ...slots.status, state: "starting", missing: [], reason: null, secondsToFirstWindow: (begins * slots.slotMs - asked) / 1000 } as const;
    listener({ kind: "status", status: waiting });
    if (this.known) void this.rest(each, asked, begins);
    const settling = setTimeout(() => this.settle(each), starts + SILENT_MS - Date.now());
    const unsubscribe = this.source.subscribe((shown) => this.show(each, shown), starts);
    return () => {
      this.subscribed.delete(each);
      clearTimeout(settling);
      unsubscribe();
    };
  }

  /** Not where nothing was chosen for a spent budget, and it is spent. */
  private async rest(each: Subscribed, asked: number, begins: number): Promise<void> {
    const { slots } = this;
    if (this.whenSpent === "nothing" && (await slots.remaining(asked)).draws === 0) return;
    this.tell(each, true);
    each.listener({ kind: "window", slot: slots.at(asked), through: begins - 1, slotMs: slots.slotMs, readings: this.resting() });
  }

  private show(each: Subscribed, shown: Shown): void {
    this.tell(each, true);
    if (!each.begun) this.tellStatus(each);
    each.begun = true;
    each.listener({ kind: "window", ...shown, through: shown.slot, readings: this.asPlatform(shown.readings) });
  }

  private tell(each: Subscribed, has: boolean): void {
    if (each.told === has || !this.subscribed.has(each)) return;
    each.told = has;
    each.listener(has ? { kind: "active", available: this.slots.available } : { kind: "unavailable" });
  }

  private tellStatus(each: Subscribed): void {
    const status = asPagesKnow(this.slots.status);
    if (status.state !== each.state) each.listener({ kind: "status", status });
    each.state = status.state;
  }

  private sensors(): Sensors {
    return {
      start: (covered, _, read) => {
        this.heard = false;
        let timer: ReturnType<typeof setTimeout>;
        const onMotion = (event: DeviceMotionEvent): void => {
          if (!event.isTrusted) return; // what a script made up is no reading
          const raw = rawOf(event);
          this.heard ||= [...covered].every((stream) => raw[stream]);
          if (this.heard && !this.memory.has) this.memory.has = true;
          read(raw);
        };
        /** Again while there is no reading: a sensor may come back, or be allowed while a page waits. */
        const listen = (): void => {
          this.natives.remove("devicemotion", onMotion);
          this.natives.add("devicemotion", onMotion);
          timer = setTimeout(() => this.heard || listen(), RETRY_MS);
        };
        listen();
        return () => {
          this.natives.remove("devicemotion", onMotion);
          clearTimeout(timer);
        };
      },
    };
  }

  /** Also a device that had sensors may have lost them. */
  private settle(each: Subscribed): void {
    if (this.heard) return;
    if (this.memory.has) this.memory.has = false;
    this.tell(each, false);
  }

  /** As coarse and as often as the platform gives them. */
  private asPlatform(readings: readonly Reading[]): Reading[] {
    const step = Math.ceil(this.slots.rateHz / FASTEST_HZ);
    return readings.filter((_, at) => at % step === 0).map(coarse);
  }

  /** A phone that lies on a table, of which only that is shown which will be. */
  private resting(): Reading[] {
    const { acceleration, rotationRate, orientation } = this.slots.available;
    const rest = new Consistent("rest").reading({}, 0);
    const shown = {
      ...NOTHING,
      ...(acceleration && { acceleration: rest.acceleration, accelerationIncludingGravity: rest.accelerationIncludingGravity, gravity: rest.gravity }),
      ...(rotationRate && { rotationRate: rest.rotationRate }),
      ...(orientation && { orientation: rest.orientation }),
    };
    return this.asPlatform(Array.from({ length: Math.round((this.slots.slotMs * this.slots.rateHz) / 1000) }, () => shown));
  }
}

/** Without what tells whether there were readings, which could tell whether there was motion. */
function asPagesKnow(status: Status): Status {
  const { state } = status;
  return { ...status, state: state === "placeholder" || state === "sensor-missing" ? "live" : state, missing: [], reason: null };
}

function rawOf({ acceleration, accelerationIncludingGravity, rotationRate }: DeviceMotionEvent): Raw {
  return {
    acceleration: vector(acceleration, ["x", "y", "z"]),
    accelerationIncludingGravity: vector(accelerationIncludingGravity, ["x", "y", "z"]),
    rotationRate: vector(rotationRate, ["alpha", "beta", "gamma"]),
  };
}

function vector<Name extends string>(given: { [name in Name]: number | null } | null, names: [Name, Name, Name]): Vector | null {
  const values = names.map((name) => given?.[name] ?? null);
  return values.every((value) => value !== null) ? (values as unknown as Vector) : null;
}
