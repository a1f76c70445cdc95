// The device's motion sensors behind the protector: raw readings go in, and whoever subscribes gets what was released.
import { type Available, type Reading, type Slots, type Vector, coarse } from "deeprotect";

const STARTING_MS = 1000; // that sensors and the document that reads them may take to start, where windows are as long
const SILENT_MS = 1500; // without a reading for so long there is no sensor
const RETRY_MS = 3000;
const FASTEST_HZ = 60; // of the platform

export type Said =
  | { readonly kind: "active"; readonly available: Available }
  | { readonly kind: "unavailable" }
  /** What is to be played in a slot of time, in equal steps. */
  | { readonly kind: "window"; readonly slot: number; readonly slotMs: number; readonly readings: readonly Reading[] };

type Listener = (said: Said) => void;
type Sensors = "idle" | "starting" | "active" | "unavailable";

interface Subscribed {
  readonly listener: Listener;
  readonly begins: number;
  /** Whether it is time to say that there is no sensor. */
  settled: boolean;
  told: Sensors | null;
}

/** How to listen to events of the browser itself; a page's own functions may be others. */
export interface Natives {
  add(type: string, listener: (event: DeviceMotionEvent) => void): void;
  remove(type: string, listener: (event: DeviceMotionEvent) => void): void;
}

/** Sensors run while somebody is subscribed. Answers come so long after the question as if nobody else had asked. */
export class Source {
  private readonly subscribed = new Set<Subscribed>();
  private state: Sensors = "idle";
  private turning: ReturnType<typeof setTimeout> | undefined;
  private listening: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly slots: Slots, private readonly natives: Natives) {}

  /** When what this source knows may be forgotten. */
  get episodeEnd(): number {
    return this.slots.episodeEnd(Date.now());
  }

  /** `asked` is when. Gives back how to unsubscribe. */
  subscribe(listener: Listener, asked = Date.now()): () => void {
    const starting = this.slots.slotMs < STARTING_MS ? 0 : STARTING_MS;
    const each: Subscribed = { listener, begins: this.slots.begins(asked + starting), settled: false, told: null };
    this.subscribed.add(each);
    if (this.state === "idle") this.start();
    setTimeout(() => this.settle(each), asked + starting + SILENT_MS - Date.now());
    return () => {
      this.subscribed.delete(each);
      if (!this.subscribed.size) this.pause();
    };
  }

  private start(): void {
    this.state = "starting";
    this.slots.start(Date.now());
    this.listen();
    this.turn(this.slots.at(Date.now()));
  }

  private pause(): void {
    this.state = "idle";
    this.natives.remove("devicemotion", this.onMotion);
    clearTimeout(this.turning);
    clearTimeout(this.listening);
  }

  /** Again while there is no reading: a sensor may come back, or be allowed while a page waits. */
  private listen(): void {
    this.natives.remove("devicemotion", this.onMotion);
    this.natives.add("devicemotion", this.onMotion);
    this.listening = setTimeout(() => this.state !== "active" && this.listen(), RETRY_MS);
  }

  private readonly onMotion = (event: DeviceMotionEvent): void => {
    if (!event.isTrusted) return; // what a script made up is no reading
    const { acceleration, accelerationIncludingGravity, rotationRate } = event;
    const raw = {
      acceleration: vector(acceleration, ["x", "y", "z"]),
      accelerationIncludingGravity: vector(accelerationIncludingGravity, ["x", "y", "z"]),
      rotationRate: vector(rotationRate, ["alpha", "beta", "gamma"]),
    };
    this.state = this.slots.read(raw, Date.now()) ? "active" : "unavailable";
  };

  /** At the end of every slot, whatever was read in it: when windows leave tells nothing about the readings. */
  private turn(slot: number): void {
    const end = (slot + 1) * this.slots.slotMs;
    this.turning = setTimeout(() => {
      const now = Date.now();
      if (this.slots.at(now) <= slot) return this.turn(slot); // the timer came early
      void this.hand(slot, now);
      this.turn(this.slots.at(now));
    }, end - Date.now());
  }

  private async hand(slot: number, now: number): Promise<void> {
    const released = this.state === "active" ? await this.slots.release(slot, now) : null;
    const readings = released && this.asPlatform(released);
    for (const each of this.subscribed) {
      if (each.begins > slot + 1) continue;
      this.tell(each);
      if (readings) each.listener({ kind: "window", slot: slot + 1, slotMs: this.slots.slotMs, readings });
    }
  }

  /** As coarse and as often as the platform gives them. */
  private asPlatform(readings: readonly Reading[]): Reading[] {
    const step = Math.ceil(this.slots.rateHz / FASTEST_HZ);
    return readings.filter((_, at) => at % step === 0).map(coarse);
  }

  private settle(each: Subscribed): void {
    each.settled = true;
    if (this.state === "starting") this.state = "unavailable";
    if (this.state === "unavailable" && this.subscribed.has(each)) this.tell(each);
  }

  private tell(each: Subscribed): void {
    const known = this.state === "active" || (this.state === "unavailable" && each.settled);
    if (each.told === this.state || !known) return;
    each.told = this.state;
    each.listener(this.state === "active" ? { kind: "active", available: this.slots.available } : { kind: "unavailable" });
  }
}

function vector<Name extends string>(given: { [name in Name]: number | null } | null, names: [Name, Name, Name]): Vector | null {
  const values = names.map((name) => given?.[name] ?? null);
  return values.every((value) => value !== null) ? (values as unknown as Vector) : null;
}
