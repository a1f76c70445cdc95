// devicemotion, deviceorientation and deviceorientationabsolute with released values.
import type { Reading, Vector } from "deeprotect";
import { type Feature, allowedByPage } from "../header";
import type { Giver } from "./link";
import { type Listener, addNative, dispatchNative, replace, replaceAccessor, stopNative } from "./natives";

type Type = "devicemotion" | "deviceorientation" | "deviceorientationabsolute";

/** By event: what the page's policy must allow for it to fire at all. */
const NEEDS: { readonly [type in Type]: readonly Feature[] } = {
  devicemotion: ["accelerometer", "gyroscope"],
  deviceorientation: ["accelerometer", "gyroscope"],
  deviceorientationabsolute: ["accelerometer", "gyroscope", "magnetometer"],
};
const TYPES = Object.keys(NEEDS) as Type[];

interface Registered {
  readonly type: Type;
  readonly callback: Listener;
  readonly capture: boolean;
  readonly once: boolean;
}

/** Mirrors who listens, so that the stream runs only while somebody does; the events go the browser's own way. */
export class Events {
  /** Milliseconds between events, as they say it. */
  interval = 16;
  private registered: Registered[] = [];
  private readonly last = new Map<Type, string>();

  constructor(private readonly giver: Giver) {
    replace(EventTarget.prototype, "addEventListener", (self, args, native) => {
      this.adding(self, args);
      return native();
    });
    replace(EventTarget.prototype, "removeEventListener", (self, args, native) => {
      if (isWindow(self)) this.removing(args);
      return native();
    });
    TYPES.forEach((type) => this.watchHandler(type));
  }

  dispatch(reading: Reading): void {
    const { acceleration, accelerationIncludingGravity, rotationRate, orientation } = reading;
    this.fire("devicemotion", () => {
      const init = { acceleration: xyz(acceleration), accelerationIncludingGravity: xyz(accelerationIncludingGravity) };
      return new DeviceMotionEvent("devicemotion", { ...init, rotationRate: angles(rotationRate), interval: this.interval });
    });
    for (const type of ["deviceorientation", "deviceorientationabsolute"] as const) {
      const key = String(orientation);
      if (this.last.get(type) === key || !this.wants(type)) continue; // as the platform: on change only
      this.last.set(type, key);
      const absolute = type === "deviceorientationabsolute";
      this.fire(type, () => new DeviceOrientationEvent(type, { ...angles(orientation), absolute }));
    }
  }

  private wants(type: Type): boolean {
    return this.registered.some((each) => each.type === type);
  }

  private fire(type: Type, make: () => Event): void {
    if (!this.wants(type) || !allowedByPage(...NEEDS[type])) return;
    const once = this.registered.filter((each) => each.type === type && each.once);
    dispatchNative(window, make());
    this.registered = this.registered.filter((each) => !once.includes(each));
    this.changed(type);
  }

  /** The name is made a text once: what is asked twice may answer twice. */
  private adding(self: unknown, args: unknown[]): void {
    if (typeof args[0] === "object" && args[0] !== null) args[0] = `${args[0] as unknown as string}`;
    const [name, callback, options] = args;
    const type = typeOf(name);
    if (!type || !callback) return;
    this.guard(isWindow(self) ? window : (self as EventTarget), type);
    if (!isWindow(self)) return;
    const { capture, once, signal } = flags(options);
    const known = this.registered.some((each) => same(each, type, callback, capture));
    if (known || signal?.aborted) return;
    this.registered.push({ type, callback: callback as Listener, capture, once });
    if (signal) addNative(signal, "abort", () => this.removing([type, callback, capture]), { once: true });
    this.changed(type);
  }

  private removing([name, callback, options]: unknown[]): void {
    const type = typeOf(String(name));
    if (!type) return;
    const { capture } = flags(options);
    this.registered = this.registered.filter((each) => !same(each, type, callback, capture));
    this.changed(type);
  }

  private changed(type: Type): void {
    if (!this.wants(type)) this.last.delete(type);
    this.giver.interest(type, this.wants(type) ? "on" : "off");
  }

  /** Events that the browser itself sends stop here: nulls where it is sealed, raw values where it is not. */
  private guard(target: EventTarget, type: Type): void {
    addNative(target, type, this.stop, true); // once, unless a document that was opened again has lost it
  }

  private readonly stop = (event: Event): void => {
    if (!event.isTrusted) return;
    if (this.giver.intercept !== null) this.giver.intercept(event);
    stopNative(event);
  };

  private watchHandler(type: Type): void {
    const marker = () => {};
    replaceAccessor(window, `on${type}`, {
      set: (_, [handler], native) => {
        const some = typeof handler === "function" || (typeof handler === "object" && handler !== null);
        if (some) this.adding(window, [type, marker]);
        else this.removing([type, marker]);
        return native();
      },
    });
  }
}

/** By comparison alone: a page may have changed what looks into lists. */
function typeOf(name: unknown): Type | null {
  return name === "devicemotion" || name === "deviceorientation" || name === "deviceorientationabsolute" ? name : null;
}

function isWindow(self: unknown): boolean {
  return self === window || self === undefined || self === null;
}

function flags(options: unknown): { capture: boolean; once: boolean; signal: AbortSignal | null } {
  if (typeof options !== "object" || options === null) return { capture: Boolean(options), once: false, signal: null };
  const given = options as AddEventListenerOptions;
  const signal = given.signal instanceof AbortSignal ? given.signal : null;
  return { capture: Boolean(given.capture), once: Boolean(given.once), signal };
}

function same(each: Registered, type: Type, callback: unknown, capture: boolean): boolean {
  return each.type === type && each.callback === callback && each.capture === capture;
}

function xyz(vector: Vector | null): DeviceMotionEventAccelerationInit {
  const [x, y, z] = vector ?? [null, null, null];
  return { x, y, z };
}

function angles(vector: Vector | null): { alpha: number | null; beta: number | null; gamma: number | null } {
  const [alpha, beta, gamma] = vector ?? [null, null, null];
  return { alpha, beta, gamma };
}
