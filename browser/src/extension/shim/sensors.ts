// The Generic Sensor classes with released values: the browser's own objects, which never start the browser's sensors.
import type { Available, Reading } from "deeprotect";
import type { Feature } from "../header";
import { hasFocus } from "./focus";
import { HANDLERS, handlerOf, setHandler } from "./handlers";
import type { Giver } from "./link";
import { apply, construct, dispatchNative, inheritFrom, replace, replaceAccessor, replaceClass } from "./natives";
import { populate } from "./matrix";
import { quaternion } from "./quaternion";
import { type Frame, frameOf, seenFrom } from "./frame";

const RADIANS = Math.PI / 180;
const FASTEST_HZ = 60;
const STILL_MS = 1000; // between readings of a sensor that rests; the platform reports changes
const JITTER_MS = 4; // a tick of the stream may come early by so much

interface Kind {
  readonly needs: keyof Available;
  readonly features: readonly Feature[];
  values(reading: Reading): readonly number[] | null;
}

const KINDS: { [name: string]: Kind } = {
  Accelerometer: { needs: "acceleration", features: ["accelerometer"], values: (reading) => reading.accelerationIncludingGravity },
  LinearAccelerationSensor: { needs: "acceleration", features: ["accelerometer"], values: (reading) => reading.acceleration },
  GravitySensor: { needs: "acceleration", features: ["accelerometer"], values: (reading) => reading.gravity },
  Gyroscope: { needs: "rotationRate", features: ["gyroscope"], values: ({ rotationRate }) => rotationRate && rotationRate.map((each) => each * RADIANS) },
  AbsoluteOrientationSensor: { needs: "orientation", features: ["accelerometer", "gyroscope", "magnetometer"], values: ({ orientation }) => orientation && quaternion(orientation) },
  RelativeOrientationSensor: { needs: "orientation", features: ["accelerometer", "gyroscope"], values: ({ orientation }) => orientation && quaternion(orientation) },
};

type Class = new (...args: unknown[]) => object;

class State {
  phase: "idle" | "activating" | "activated" = "idle";
  values: readonly number[] | null = null;
  timestamp: number | null = null;

  constructor(readonly kind: Kind, readonly periodMs: number, readonly frame: Frame, readonly isNative: boolean) {}

  /** Nothing is kept of a stopped sensor. */
  clear(): void {
    [this.phase, this.values, this.timestamp] = ["idle", null, null];
  }
}

export class Sensors {
  private readonly states = new WeakMap<object, State>();
  private readonly running = new Set<object>();
  private available: Available | null = null;

  constructor(private readonly giver: Giver, private readonly mayReplace: (...features: readonly Feature[]) => boolean) {
    if (!("Sensor" in window)) return;
    for (const [name, kind] of Object.entries(KINDS)) if (name in window) this.wrapClass(name, kind);
    inheritFrom(window, "Accelerometer", ["LinearAccelerationSensor", "GravitySensor"]);
    const sensor = prototypeOf("Sensor");
    this.attribute(sensor, "activated", (state) => state.phase === "activated");
    this.attribute(sensor, "hasReading", (state) => state.phase === "activated" && state.values !== null);
    this.attribute(sensor, "timestamp", (state) => state.timestamp);
    this.method(sensor, "start", (self, state) => this.start(self, state));
    this.method(sensor, "stop", (self, state) => this.stop(self, state));
    for (const name of HANDLERS) this.watchHandler(sensor, name);
    ["x", "y", "z"].forEach((axis, at) => {
      for (const name of ["Accelerometer", "Gyroscope"]) {
        if (name in window) this.attribute(prototypeOf(name), axis, (state) => state.values?.[at] ?? null);
      }
    });
    if (!("OrientationSensor" in window)) return;
    const orientation = prototypeOf("OrientationSensor");
    this.attribute(orientation, "quaternion", (state) => state.values && Object.freeze([...state.values]));
    this.method(orientation, "populateMatrix", (_, state, args) => populate(args, state.values));
  }

  /** The stream is there, or is not. */
  activate(available: Available): void {
    this.available = available;
    for (const sensor of this.running) this.settle(sensor, this.states.get(sensor)!);
  }

  fail(name: "NotAllowedError" | "NotReadableError"): void {
    this.available = null;
    for (const sensor of [...this.running]) this.refuse(sensor, name);
  }

  dispatch(reading: Reading, timestamp: number): void {
    for (const sensor of [...this.running]) this.update(sensor, this.states.get(sensor)!, reading, timestamp);
  }

  private update(sensor: object, state: State, reading: Reading, timestamp: number): void {
    const values = state.kind.values(reading);
    if (state.phase !== "activated" || !values || !hasFocus()) return;
    if (state.timestamp !== null && timestamp - state.timestamp < state.periodMs - JITTER_MS) return;
    const seen = seenFrom(state.frame, values);
    const changed = seen.some((value, at) => value !== state.values?.[at]);
    if (!changed && timestamp - state.timestamp! < STILL_MS) return;
    state.values = seen;
    state.timestamp = timestamp;
    fire(sensor, new Event("reading"));
  }

  private start(sensor: object, state: State): void {
    if (state.phase !== "idle") return;
    state.phase = "activating";
    this.running.add(sensor);
    this.giver.interest("sensors", "on");
    if (this.available) setTimeout(() => this.settle(sensor, state));
  }

  private stop(sensor: object, state: State): void {
    state.clear();
    this.running.delete(sensor);
    if (this.running.size) return;
    this.available = null;
    this.giver.interest("sensors", "off");
  }

  private settle(sensor: object, state: State): void {
    if (state.phase !== "activating" || !this.available) return;
    if (!this.available[state.kind.needs]) return this.refuse(sensor, "NotReadableError");
    state.phase = "activated";
    fire(sensor, new Event("activate"));
  }

  private refuse(sensor: object, name: string): void {
    this.stop(sensor, this.states.get(sensor)!);
    fail(sensor, name);
  }

  private wrapClass(name: string, kind: Kind): void {
    replaceClass(window, name, (native, args, self) => {
      const [made, isNative] = this.construct(native, args, { self, kind });
      this.states.set(made, new State(kind, periodOf(args[0]), frameOf(args[0]), isNative));
      return made;
    });
  }

  /** The browser's object; where our own header forbids that, one of our making. */
  private construct(native: Class, args: unknown[], { self, kind }: { self: Class; kind: Kind }): [object, boolean] {
    try {
      return [construct(native, args, self) as object, true];
    } catch (error) {
      const forbidden = error instanceof DOMException && error.name === "SecurityError";
      if (!forbidden || !this.mayReplace(...kind.features)) throw error;
      return [construct(EventTarget, [], self) as object, false];
    }
  }

  private attribute(holder: object, name: string, read: (state: State) => unknown): void {
    replace(holder, name, (self, _, native) => {
      const state = this.states.get(self as object);
      if (state?.isNative !== false) native(); // whoever is no sensor gets the browser's own error
      return state ? read(state) : null;
    });
  }

  private method(holder: object, name: string, run: (self: object, state: State, args: unknown[]) => unknown): void {
    const activated = Object.getOwnPropertyDescriptor(prototypeOf("Sensor"), "activated")!.get!;
    replace(holder, name, (self, args) => {
      const state = this.states.get(self as object);
      if (state) return run(self as object, state, args);
      apply(activated, self, []); // whoever is no sensor gets the browser's own error
      if (name === "start") setTimeout(() => fail(self as object, "NotAllowedError")); // a stranger's never starts
      return undefined;
    });
  }

  private watchHandler(holder: object, name: string): void {
    const ours = (self: unknown) => this.states.get(self as object)?.isNative === false;
    replaceAccessor(holder, name, {
      get: (self, _, native) => (ours(self) ? handlerOf(self as object, name) : native()),
      set: (self, [given], native) => (ours(self) ? setHandler(self as EventTarget, name, given) : native()),
    });
  }
}

function prototypeOf(name: string): object {
  return (window as unknown as { [name: string]: { prototype: object } })[name]!.prototype;
}

function fire(sensor: object, event: Event): void {
  dispatchNative(sensor, event);
}

function fail(sensor: object, name: string): void {
  const made = (window as unknown as { SensorErrorEvent: new (type: string, init: object) => Event }).SensorErrorEvent;
  const text = name === "NotAllowedError" ? "Permissions to access sensor are not granted" : "Could not connect to a sensor";
  fire(sensor, new made("error", { error: new DOMException(text, name) }));
}

/** Conversions are the browser's: it has thrown before this is asked. */
function periodOf(options: unknown): number {
  const frequency = Number((options as { frequency?: number } | undefined)?.frequency ?? FASTEST_HZ);
  return 1000 / Math.min(frequency > 0 ? frequency : FASTEST_HZ, FASTEST_HZ);
}

