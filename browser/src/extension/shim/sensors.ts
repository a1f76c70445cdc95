// The Generic Sensor classes with released values. Their objects are ours; the browser's own are never constructed.
import type { Available, Reading } from "deeprotect";
import { allowedByPage, maybeAllowed } from "../policy";
import { hasFocus } from "./focus";
import { HANDLERS, handlerOf, setHandler } from "./handlers";
import type { Provider } from "./link";
import { CLASSES } from "./motion";
import {
  construct,
  dispatchNative,
  freeze,
  getterOf,
  inheritFrom,
  replace,
  replaceAccessor,
  replaceClass,
} from "./natives";
import { populate } from "./matrix";
import { quaternion } from "./quaternion";
import { type Frame, inFrame } from "./frame";

const RADIANS = Math.PI / 180;
const FASTEST_HZ = 60;
const STILL_MS = 1000; // between readings of a sensor whose values do not change; the platform reports changes only
const JITTER_MS = 4; // by which a tick of the stream may come early

interface Kind {
  readonly needs: keyof Available;
  values(reading: Reading): readonly number[] | null;
}

const KINDS: { [name: string]: Kind } = {
  Accelerometer: { needs: "acceleration", values: (reading) => reading.accelerationIncludingGravity },
  LinearAccelerationSensor: { needs: "acceleration", values: (reading) => reading.acceleration },
  GravitySensor: { needs: "acceleration", values: (reading) => reading.gravity },
  Gyroscope: {
    needs: "rotationRate",
    values: ({ rotationRate }) => rotationRate?.map((each) => each * RADIANS) ?? null,
  },
  AbsoluteOrientationSensor: {
    needs: "orientation",
    values: ({ orientation }) => orientation && quaternion(orientation),
  },
  RelativeOrientationSensor: {
    needs: "orientation",
    values: ({ orientation }) => orientation && quaternion(orientation),
  },
};

const NativeTarget = EventTarget; // captured before a page can replace it

class State {
  phase: "idle" | "activating" | "activated" = "idle";
  values: readonly number[] | null = null;
  timestamp: number | null = null;

  constructor(
    readonly name: string,
    readonly kind: Kind,
    readonly periodMs: number,
    readonly frame: Frame,
  ) {}

  /** A stopped sensor keeps nothing. */
  clear(): void {
    [this.phase, this.values, this.timestamp] = ["idle", null, null];
  }
}

export class Sensors {
  private readonly states = new WeakMap<object, State>();
  private readonly running = new Set<object>();
  private available: Available | null = null;
  private activated: (sensor: unknown) => unknown = () => false;

  constructor(private readonly provider: Provider) {
    if (!("Sensor" in window)) return;
    for (const [name, kind] of Object.entries(KINDS)) if (name in window) this.wrapClass(name, kind);
    inheritFrom(window, "Accelerometer", "LinearAccelerationSensor");
    inheritFrom(window, "Accelerometer", "GravitySensor");
    const sensor = prototypeOf("Sensor");
    this.activated = getterOf(sensor, "activated");
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
    this.attribute(orientation, "quaternion", (state) => state.values && freeze([...state.values]));
    this.method(orientation, "populateMatrix", (_, state, args) => populate(args, state.values));
  }

  /** Activates running sensors: the stream is available. */
  activate(available: Available): void {
    this.available = available;
    for (const sensor of this.running) this.activateOne(sensor, this.states.get(sensor)!);
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
    const current = inFrame(state.frame, values);
    const changed = current.some((value, at) => value !== state.values?.[at]);
    if (!changed && timestamp - state.timestamp! < STILL_MS) return;
    state.values = current;
    state.timestamp = timestamp;
    fire(sensor, new Event("reading"));
  }

  private start(sensor: object, state: State): void {
    if (state.phase !== "idle") return;
    state.phase = "activating";
    if (!maybeAllowed(...CLASSES[state.name]!)) return void setTimeout(() => this.refuse(sensor, "NotAllowedError"));
    this.running.add(sensor);
    this.provider.interest("sensors", "on");
    if (this.available) setTimeout(() => this.activateOne(sensor, state));
  }

  private stop(sensor: object, state: State): void {
    state.clear();
    this.running.delete(sensor);
    if (this.running.size) return;
    this.available = null;
    this.provider.interest("sensors", "off");
  }

  private activateOne(sensor: object, state: State): void {
    if (state.phase !== "activating" || !this.available) return;
    if (!allowedByPage(...CLASSES[state.name]!)) return this.refuse(sensor, "NotAllowedError");
    if (!this.available[state.kind.needs]) return this.refuse(sensor, "NotReadableError");
    state.phase = "activated";
    fire(sensor, new Event("activate"));
  }

  private refuse(sensor: object, name: string): void {
    this.stop(sensor, this.states.get(sensor)!);
    fail(sensor, name);
  }

  private wrapClass(name: string, kind: Kind): void {
    const features = CLASSES[name]!;
    replaceClass(window, name, (native, args, self) => {
      // Constructing the browser's own throws its refusal.
      if (!maybeAllowed(...features)) return construct<unknown[], object>(native, args, self);
      const { periodMs, frame } = optionsOf(args.length ? args[0] : undefined);
      const made = construct(NativeTarget, [], self) as object;
      this.states.set(made, new State(name, kind, periodMs, frame));
      return made;
    });
  }

  private attribute(holder: object, name: string, read: (state: State) => unknown): void {
    replace(holder, name, (self, _, native) => {
      const state = this.states.get(self as object);
      return state ? read(state) : native(); // the browser's own error for other objects
    });
  }

  private method(holder: object, name: string, run: (self: object, state: State, args: unknown[]) => unknown): void {
    replace(holder, name, (self, args) => {
      const state = this.states.get(self as object);
      if (state) return run(self as object, state, args);
      this.activated(self); // throws the browser's own error for other objects
      // A sensor of another frame never starts.
      if (name === "start") setTimeout(() => fail(self as object, "NotAllowedError"));
      return undefined;
    });
  }

  private watchHandler(holder: object, name: string): void {
    replaceAccessor(holder, name, {
      get: (self, _, native) => (this.states.has(self as object) ? handlerOf(self as object, name) : native()),
      set: (self, [given], native) =>
        this.states.has(self as object) ? setHandler(self as EventTarget, name, name.slice(2), given) : native(),
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
  const text =
    name === "NotAllowedError" ? "Permissions to access sensor are not granted" : "Could not connect to a sensor";
  fire(sensor, new made("error", { error: new DOMException(text, name) }));
}

/** Refuses what the browser refuses, with the same errors. */
function optionsOf(given: unknown): { periodMs: number; frame: Frame } {
  if (given !== undefined && given !== null && typeof given !== "object" && typeof given !== "function")
    throw new TypeError("The provided value is not of type 'SensorOptions'.");
  const { frequency, referenceFrame } = (given ?? {}) as { frequency?: unknown; referenceFrame?: unknown };
  const hz = frequency === undefined ? FASTEST_HZ : Number(frequency);
  if (!Number.isFinite(hz)) throw new TypeError("The provided double value is non-finite.");
  const frame = referenceFrame === undefined ? "device" : `${referenceFrame as string}`;
  if (frame !== "device" && frame !== "screen")
    throw new TypeError(`The provided value '${frame}' is not a valid enum value.`);
  return { periodMs: 1000 / Math.min(hz > 0 ? hz : FASTEST_HZ, FASTEST_HZ), frame };
}
