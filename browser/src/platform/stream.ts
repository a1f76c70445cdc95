// Connects the browser's motion sensors to the protector: raw readings go in, subscribers get released windows.
import {
  type Available,
  Consistent,
  NOTHING,
  type Raw,
  type Reading,
  type Sensors,
  type Shown,
  type Slots,
  Source,
  type Status,
  type Vector,
  type WhenSpent,
  coarse,
} from "deeprotect";

const STARTING_MS = 1000; // allowed for sensors and the offscreen document to start, where windows are as long
const SILENT_MS = 1500; // without a reading for this long, there is no sensor
const RETRY_MS = 3000;
const FASTEST_HZ = 60; // of the platform

export type Window = Shown & { readonly kind: "window" };

export type Released =
  | { readonly kind: "active"; readonly available: Available }
  | { readonly kind: "unavailable" }
  | { readonly kind: "status"; readonly status: Status }
  | Window;

type Listener = (update: Released) => void;

interface Subscriber {
  readonly listener: Listener;
  /** Whether it was notified that there is a sensor; null before either notification. */
  hasSensor: boolean | null;
  started: boolean;
  /** The last state it was notified of. */
  state: Status["state"] | null;
}

/** Adds and removes listeners of the browser's own events; a page may have replaced its own functions. */
export interface Natives {
  add(type: string, listener: (event: DeviceMotionEvent) => void): void;
  remove(type: string, listener: (event: DeviceMotionEvent) => void): void;
}

/** Whether this device is known to have motion sensors. */
export interface Memory {
  has: boolean;
}

/** Sensors run while there are subscribers. Until its first window a subscriber gets a phone at rest. */
export class Stream {
  /** Called whenever the status changes. */
  onstatus: ((status: Status) => void) | null = null;
  private readonly subscribers = new Set<Subscriber>();
  private readonly source: Source;
  private hasReading = false;
  /** Fixed at construction, so that a page's timing does not depend on what other pages read meanwhile. */
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
      for (const subscriber of this.subscribers) if (subscriber.started) this.notifyStatus(subscriber);
    };
  }

  get status(): Status {
    return this.slots.status;
  }

  /** When this stream may be discarded without allowing a second draw for the same episode. */
  get episodeEnd(): number {
    return this.slots.episodeEnd(Date.now());
  }

  at(now: number): number {
    return this.slots.at(now);
  }

  /** Counts from `requestedAt`, when the page asked for motion; returns how to unsubscribe. */
  subscribe(listener: Listener, requestedAt = Date.now()): () => void {
    const { slots } = this;
    const starts = requestedAt + (slots.slotMs < STARTING_MS ? 0 : STARTING_MS);
    const begins = slots.begins(starts);
    const subscriber: Subscriber = { listener, hasSensor: null, started: false, state: null };
    this.subscribers.add(subscriber);
    const secondsToFirstWindow = (slots.startOf(begins) - requestedAt) / 1000;
    const starting = { state: "starting", missing: [], reason: null, secondsToFirstWindow } as const;
    listener({ kind: "status", status: { ...slots.status, ...starting } });
    if (this.known) void this.showRest(subscriber, requestedAt, begins);
    const check = setTimeout(() => this.checkSensor(subscriber), starts + SILENT_MS - Date.now());
    const unsubscribe = this.source.subscribe((shown) => this.show(subscriber, shown), starts);
    return () => {
      this.subscribers.delete(subscriber);
      clearTimeout(check);
      unsubscribe();
    };
  }

  /** Shows a phone at rest, unless the budget is spent and the choice for that is to show nothing. */
  private async showRest(subscriber: Subscriber, requestedAt: number, begins: number): Promise<void> {
    const { slots } = this;
    if (this.whenSpent === "nothing" && (await slots.remaining(requestedAt)).draws === 0) return;
    this.notifySensor(subscriber, true);
    const time = { slot: slots.at(requestedAt), through: begins - 1, slotMs: slots.slotMs };
    subscriber.listener({ kind: "window", ...time, readings: this.restReadings() });
  }

  private show(subscriber: Subscriber, shown: Shown): void {
    this.notifySensor(subscriber, true);
    if (!subscriber.started) this.notifyStatus(subscriber);
    subscriber.started = true;
    subscriber.listener({ kind: "window", ...shown, readings: this.asPlatform(shown.readings) });
  }

  private notifySensor(subscriber: Subscriber, has: boolean): void {
    if (subscriber.hasSensor === has || !this.subscribers.has(subscriber)) return;
    subscriber.hasSensor = has;
    subscriber.listener(has ? { kind: "active", available: this.slots.available } : { kind: "unavailable" });
  }

  private notifyStatus(subscriber: Subscriber): void {
    const status = withoutReadings(this.slots.status);
    if (status.state !== subscriber.state) subscriber.listener({ kind: "status", status });
    subscriber.state = status.state;
  }

  private sensors(): Sensors {
    return {
      start: (covered, _, read) => {
        this.hasReading = false;
        let timer: ReturnType<typeof setTimeout>;
        const onMotion = (event: DeviceMotionEvent): void => {
          if (!event.isTrusted) return; // made by a script, not by a sensor
          const raw = rawOf(event);
          this.hasReading ||= [...covered].every((stream) => raw[stream]);
          if (this.hasReading && !this.memory.has) this.memory.has = true;
          read(raw);
        };
        /** Retries until there is a reading: a sensor may return, or be allowed while a page waits. */
        const listen = (): void => {
          this.natives.remove("devicemotion", onMotion);
          this.natives.add("devicemotion", onMotion);
          timer = setTimeout(() => this.hasReading || listen(), RETRY_MS);
        };
        listen();
        return () => {
          this.natives.remove("devicemotion", onMotion);
          clearTimeout(timer);
        };
      },
    };
  }

  /** A device that had sensors may have lost them. */
  private checkSensor(subscriber: Subscriber): void {
    if (this.hasReading) return;
    if (this.memory.has) this.memory.has = false;
    this.notifySensor(subscriber, false);
  }

  /** Rounds readings and limits their rate as the platform does. */
  private asPlatform(readings: readonly Reading[]): Reading[] {
    const step = Math.ceil(this.slots.rateHz / FASTEST_HZ);
    return readings.filter((_, at) => at % step === 0).map(coarse);
  }

  /** A phone lying on a table, with only the sensors that released windows will have. */
  private restReadings(): Reading[] {
    const { acceleration, rotationRate, orientation } = this.slots.available;
    const rest = new Consistent("rest").reading({}, 0);
    const accelerations = {
      acceleration: rest.acceleration,
      accelerationIncludingGravity: rest.accelerationIncludingGravity,
      gravity: rest.gravity,
    };
    const shown = {
      ...NOTHING,
      ...(acceleration && accelerations),
      ...(rotationRate && { rotationRate: rest.rotationRate }),
      ...(orientation && { orientation: rest.orientation }),
    };
    const length = Math.round((this.slots.slotMs * this.slots.rateHz) / 1000);
    return this.asPlatform(Array.from({ length }, () => shown));
  }
}

/** Hides whether sensors gave readings, because that could reveal whether there was motion. */
function withoutReadings(status: Status): Status {
  const { state } = status;
  const hidden = state === "placeholder" || state === "sensor-missing";
  return { ...status, state: hidden ? "live" : state, missing: [], reason: null };
}

function rawOf({ acceleration, accelerationIncludingGravity, rotationRate }: DeviceMotionEvent): Raw {
  return {
    acceleration: vector(acceleration, ["x", "y", "z"]),
    accelerationIncludingGravity: vector(accelerationIncludingGravity, ["x", "y", "z"]),
    rotationRate: vector(rotationRate, ["alpha", "beta", "gamma"]),
  };
}

function vector<Name extends string>(
  given: { [name in Name]: number | null } | null,
  names: [Name, Name, Name],
): Vector | null {
  const values = names.map((name) => given?.[name] ?? null);
  return values.every((value) => value !== null) ? (values as unknown as Vector) : null;
}
