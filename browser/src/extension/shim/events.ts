// devicemotion, deviceorientation and deviceorientationabsolute with released values. A page's listeners are never
// registered with the browser under these names, so none of its own events reaches them.
import type { Reading, Vector } from "deeprotect";
import { allowedByPage } from "../policy";
import { handlerOf, setHandler } from "./handlers";
import type { Provider } from "./link";
import { EVENTS, type MotionEvent, PREFIX, isMotion, typeIn } from "./motion";
import {
  addNative,
  construct,
  defineProperty,
  dispatchNative,
  getterOf,
  isWindow,
  replace,
  replaceAccessor,
  typeOfEvent,
  uncurried,
  withoutPrototype,
} from "./natives";

// Captured before a page can replace them.
const { DeviceMotionEvent: Motion, DeviceOrientationEvent: Orientation } = window;
const { Observable: NativeObservable, Subscriber } = window as unknown as Observables;

/** Not in every browser: https://wicg.github.io/observable */
interface Observables {
  readonly Observable?: new (subscribe: (subscriber: object) => void) => object;
  readonly Subscriber?: { readonly prototype: { next(value: unknown): void } };
}

interface Registered {
  readonly type: MotionEvent;
  readonly callback: unknown;
  readonly capture: boolean;
  readonly once: boolean;
}

interface Flags {
  readonly capture: boolean;
  readonly once: boolean;
  readonly passive: boolean;
  readonly signal?: AbortSignal;
}

type Native = (args?: unknown[]) => unknown;

/** Tracks listeners, so that the stream runs only while there are some; the browser itself calls them. */
export class Events {
  /** Milliseconds between events, as reported in them. */
  interval = 16;
  private registered: Registered[] = [];
  private readonly last = new Map<MotionEvent, string>();

  constructor(private readonly provider: Provider) {
    replace(EventTarget.prototype, "addEventListener", (self, args, native) => this.add(self, args, native));
    replace(EventTarget.prototype, "removeEventListener", (self, args, native) => this.remove(self, args, native));
    replace(EventTarget.prototype, "dispatchEvent", (self, args, native) => this.dispatched(self, args, native));
    this.watchObservables();
    for (const type of Object.keys(EVENTS) as MotionEvent[]) this.watchHandler(type);
  }

  dispatch(reading: Reading): void {
    const { acceleration, accelerationIncludingGravity, rotationRate, orientation } = reading;
    this.fire("devicemotion", () => {
      const init = { acceleration: xyz(acceleration), accelerationIncludingGravity: xyz(accelerationIncludingGravity) };
      return new Motion(`${PREFIX}devicemotion`, {
        ...init,
        rotationRate: angles(rotationRate),
        interval: this.interval,
      });
    });
    for (const type of ["deviceorientation", "deviceorientationabsolute"] as const) {
      const key = String(orientation);
      if (this.last.get(type) === key || !this.isWanted(type)) continue; // as the platform: on change only
      this.last.set(type, key);
      const absolute = type === "deviceorientationabsolute";
      this.fire(type, () => new Orientation(PREFIX + type, { ...angles(orientation), absolute }));
    }
  }

  private isWanted(type: MotionEvent): boolean {
    return this.registered.some((each) => each.type === type);
  }

  private fire(type: MotionEvent, make: () => Event): void {
    if (!this.isWanted(type) || !allowedByPage(...EVENTS[type])) return;
    this.call(type, make());
  }

  private call(type: MotionEvent, event: Event): boolean {
    const once = this.registered.filter((each) => each.type === type && each.once);
    defineProperty(event, "type", withoutPrototype({ value: type, configurable: true }));
    const notCancelled = dispatchNative(window, event);
    this.registered = this.registered.filter((each) => !once.includes(each));
    this.changed(type);
    return notCancelled;
  }

  /** Converts the page's arguments to a string and flags exactly once; the browser gets these. */
  private add(self: unknown, args: unknown[], native: Native): unknown {
    if (args.length < 2) return native();
    const type = typeIn(args);
    if (!isMotion(type) || !(isThisWindow(self) || isWindow(self))) return native(args);
    const flags = flagsOf(args.length > 2 ? args[2] : undefined);
    const result = native([PREFIX + type, args[1], flags]);
    if (isThisWindow(self) && args[1]) this.added(type, args[1], flags);
    return result;
  }

  private added(type: MotionEvent, callback: unknown, { capture, once, signal }: Flags): void {
    const known = this.registered.some((each) => isSame(each, type, callback, capture));
    if (known || signal?.aborted) return;
    this.registered.push({ type, callback, capture, once });
    if (signal) addNative(signal, "abort", () => this.removed(type, callback, capture), { once: true });
    this.changed(type);
  }

  private remove(self: unknown, args: unknown[], native: Native): unknown {
    if (args.length < 2) return native();
    const type = typeIn(args);
    if (!isMotion(type) || !(isThisWindow(self) || isWindow(self))) return native(args);
    const { capture } = flagsOf(args.length > 2 ? args[2] : undefined);
    const result = native([PREFIX + type, args[1], capture]);
    if (isThisWindow(self)) this.removed(type, args[1], capture);
    return result;
  }

  private removed(type: MotionEvent, callback: unknown, capture: boolean): void {
    this.registered = this.registered.filter((each) => !isSame(each, type, callback, capture));
    this.changed(type);
  }

  /** Subscribing to an observable adds a listener, which is removed when the subscription ends. */
  private watchObservables(): void {
    if (!NativeObservable || !Subscriber) return;
    const next = uncurried(Subscriber.prototype.next);
    const signalOf = getterOf(Subscriber.prototype, "signal") as (subscriber: object) => AbortSignal;
    replace(EventTarget.prototype, "when", (self, args, native) => {
      if (!args.length) return native();
      const type = typeIn(args);
      if (!isMotion(type) || !(isThisWindow(self) || isWindow(self))) return native(args);
      const { capture, passive } = flagsOf(args.length > 1 ? args[1] : undefined);
      if (!isThisWindow(self)) return native([PREFIX + type, withoutPrototype({ capture, passive })]);
      const subscribe = (subscriber: object): void => {
        const flags = withoutPrototype({ capture, once: false, passive, signal: signalOf(subscriber) });
        const callback = (event: Event): void => void next(subscriber, event);
        addNative(window, PREFIX + type, callback, flags);
        this.added(type, callback, flags);
      };
      return construct(NativeObservable, [subscribe]);
    });
  }

  /** Sends a copy of an event that the page made to the page's own listeners. */
  private dispatched(self: unknown, args: unknown[], native: () => unknown): unknown {
    const notCancelled = native() as boolean;
    const event = args[0] as Event;
    const type = typeOfEvent(event);
    if (!isMotion(type) || !isThisWindow(self)) return notCancelled;
    const Kind = type === "devicemotion" ? Motion : Orientation;
    return this.call(type, new Kind(PREFIX + type, event)) && notCancelled;
  }

  private changed(type: MotionEvent): void {
    if (!this.isWanted(type)) this.last.delete(type);
    this.provider.interest(type, this.isWanted(type) ? "on" : "off");
  }

  private watchHandler(type: MotionEvent): void {
    const name = `on${type}`;
    const marker = (): void => {};
    replaceAccessor(window, name, {
      get: (self, _, native) => (isThisWindow(self) ? handlerOf(window, name) : native()),
      set: (self, args, native) => {
        if (!isThisWindow(self)) return isWindow(self) ? undefined : native();
        setHandler(window, name, PREFIX + type, args[0]);
        if (handlerOf(window, name)) this.added(type, marker, flagsOf(undefined));
        else this.removed(type, marker, false);
        return undefined;
      },
    });
  }
}

function isThisWindow(self: unknown): self is Window {
  return self === window || self === undefined || self === null;
}

function flagsOf(options: unknown): Flags {
  if (options === null || (typeof options !== "object" && typeof options !== "function")) {
    return withoutPrototype({ capture: Boolean(options), once: false, passive: false });
  }
  const { capture, once, passive, signal } = options as AddEventListenerOptions;
  const flags = { capture: Boolean(capture), once: Boolean(once), passive: Boolean(passive) };
  return withoutPrototype(signal === undefined ? flags : { ...flags, signal }); // the browser refuses other types
}

function isSame(each: Registered, type: MotionEvent, callback: unknown, capture: boolean): boolean {
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
