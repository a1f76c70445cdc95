// The device's motion sensors behind the protector: raw readings go in, and whoever subscribes gets what was released.
import type { Available, Reading, Session, Vector } from "deeprotect";

const TICK_MS = 1000 / 60;
const SILENT_MS = 1500; // without a reading for so long there is no sensor
const RETRY_MS = 3000;

export type Said =
  | { readonly kind: "active"; readonly available: Available }
  | { readonly kind: "unavailable" }
  | { readonly kind: "reading"; readonly reading: Reading; readonly time: number };

type Listener = (said: Said) => void;
type Sensors = "idle" | "starting" | "active" | "unavailable";

/** How to listen to events of the browser itself; a page's own functions may be others. */
export interface Natives {
  add(type: string, listener: (event: DeviceMotionEvent) => void): void;
  remove(type: string, listener: (event: DeviceMotionEvent) => void): void;
}

/** Sensors run while somebody is subscribed. */
export class Source {
  private readonly listeners = new Set<Listener>();
  private state: Sensors = "idle";
  private timer: ReturnType<typeof setInterval> | undefined;
  private startedAt = 0;

  constructor(private readonly session: Session, private readonly natives: Natives) {}

  /** Gives back how to unsubscribe. */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    if (this.state === "idle") this.start();
    else if (this.state !== "starting") listener(this.answer());
    return () => {
      this.listeners.delete(listener);
      if (!this.listeners.size) this.pause();
    };
  }

  private start(): void {
    this.state = "starting";
    this.startedAt = performance.now();
    this.session.start(this.startedAt);
    this.natives.add("devicemotion", this.onMotion);
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  private pause(): void {
    this.state = "idle";
    this.natives.remove("devicemotion", this.onMotion);
    clearInterval(this.timer);
  }

  /** A sensor may come back, or be allowed while a page waits. */
  private listenAgain(now: number): void {
    this.startedAt = now;
    this.natives.remove("devicemotion", this.onMotion);
    this.natives.add("devicemotion", this.onMotion);
  }

  private readonly onMotion = (event: DeviceMotionEvent): void => {
    if (!event.isTrusted) return; // what a script made up is no reading
    const { acceleration, accelerationIncludingGravity, rotationRate } = event;
    const found: Sensors = this.session.read({
      acceleration: vector(acceleration, ["x", "y", "z"]),
      accelerationIncludingGravity: vector(accelerationIncludingGravity, ["x", "y", "z"]),
      rotationRate: vector(rotationRate, ["alpha", "beta", "gamma"]),
    })
      ? "active"
      : "unavailable";
    if (found !== this.state) this.become(found);
  };

  private become(state: Sensors): void {
    this.state = state;
    this.say(this.answer());
  }

  private answer(): Said {
    return this.state === "active" ? { kind: "active", available: this.session.available } : { kind: "unavailable" };
  }

  /** On the clock alone: when events come tells nothing about the readings. */
  private tick(): void {
    const now = performance.now();
    if (this.state === "starting" && now - this.startedAt > SILENT_MS) this.become("unavailable");
    if (this.state === "unavailable" && now - this.startedAt > RETRY_MS) this.listenAgain(now);
    const reading = this.session.tick(now);
    if (reading && this.state === "active") this.say({ kind: "reading", reading, time: performance.timeOrigin + now });
  }

  private say(said: Said): void {
    this.listeners.forEach((listener) => listener(said));
  }
}

function vector<Name extends string>(given: { [name in Name]: number | null } | null, names: [Name, Name, Name]): Vector | null {
  const values = names.map((name) => given?.[name] ?? null);
  return values.every((value) => value !== null) ? (values as unknown as Vector) : null;
}
