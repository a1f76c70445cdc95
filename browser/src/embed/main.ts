// One script for a site or a WebView: it must run first, and gives all later scripts released motion.
import { Bundle, type Charges, type Exported, Ledger, Slots } from "deeprotect";
import type { Update } from "../extension/messages";
import { install } from "../extension/shim/install";
import type { Provider } from "../extension/shim/link";
import { addNative, removeNative, stopNative } from "../extension/shim/natives";
import { type Memory, type Natives, Stream, type Window } from "../platform/stream";

/** Written before this script by `deeprotect export`. */
declare const deeprotectBundle: Exported;

/** Keys in the site's storage, which all its windows share. */
const CHARGES = "deeprotect.charges";
const UNTIL = "deeprotect.until"; // when the last draw expires
const SHOWN = "deeprotect.shown"; // the last released window
const SENSORS = "deeprotect.sensors"; // whether there are sensors
const NAME = "deeprotect"; // of the lock and the channel

function load<Value>(key: string): Value | undefined {
  return (JSON.parse(localStorage.getItem(key) ?? "null") as Value | null) ?? undefined;
}

function save(key: string, value: unknown): void {
  localStorage.setItem(key, JSON.stringify(value));
}

const memory: Memory = {
  get has(): boolean {
    return load<boolean>(SENSORS) === true;
  },
  set has(has: boolean) {
    save(SENSORS, has);
  },
};

/** Listens before the page does, and stops raw events from reaching it. */
function natives(): Natives {
  const listeners = new Map<unknown, (event: Event) => void>();
  return {
    add: (type, listener) => {
      const added = (event: Event): void => {
        listener(event as DeviceMotionEvent);
        if (event.isTrusted) stopNative(event);
      };
      listeners.set(listener, added);
      addNative(window, type, added, true);
    },
    remove: (type, listener) => removeNative(window, type, listeners.get(listener) ?? null, true),
  };
}

function makeStream(): Stream {
  const bundle = new Bundle(deeprotectBundle);
  const { hold, budget, whenSpent } = bundle.policy;
  const choices = { hold, uncovered: "rest", whenSpent: whenSpent ?? "placeholder" } as const;
  const store = {
    load: async () => load<Charges>(CHARGES),
    save: async (charges: Charges) => {
      save(UNTIL, stream.episodeEnd);
      save(CHARGES, charges);
    },
  };
  const slots = new Slots(bundle, new Ledger(store, budget), choices);
  const stream = new Stream(slots, natives(), choices.whenSpent, memory);
  return stream;
}

/**
 * One window of the site draws, and broadcasts what it released to the others that read: two windows together know no
 * more than one. A page that is loaded again gets the last released window until its draw expires.
 */
class Shared implements Provider {
  private readonly listeners: ((update: Update) => void)[] = [];
  private readonly interests = new Set<string>();
  private readonly channel = new BroadcastChannel(NAME);
  private readonly latest = new Map<string, Update>();
  private stream: Stream | null = null;
  private leaving: AbortController | null = null;

  constructor() {
    addNative(document, "visibilitychange", () => this.changed());
    addNative(this.channel, "message", (event) => this.receive((event as MessageEvent<Update | null>).data));
  }

  onUpdate(listener: (update: Update) => void): void {
    this.listeners.push(listener);
  }

  interest(name: string, state: "on" | "off"): void {
    if (state === "on") this.interests.add(name);
    else this.interests.delete(name);
    this.changed();
  }

  get isWanted(): boolean {
    return this.interests.size > 0;
  }

  async permission(): Promise<PermissionState> {
    return "granted";
  }

  private changed(): void {
    const wanted = this.isWanted && document.visibilityState === "visible";
    if (!wanted) {
      this.leaving?.abort();
      this.leaving = null;
    } else if (!this.leaving) {
      const leaving = (this.leaving = new AbortController());
      this.channel.postMessage(null); // asks for the latest updates
      const { signal } = leaving;
      navigator.locks
        .request(NAME, { signal }, () => this.lead(signal))
        .catch((error: unknown) => {
          if (!signal.aborted) throw error; // else it left before it got the lock
        });
    }
  }

  /** Draws for all windows of the site, until this one leaves. */
  private lead(left: AbortSignal): Promise<void> {
    const stream = (this.stream ??= makeStream());
    const [until, now] = [load<number>(UNTIL) ?? 0, Date.now()];
    const shown = load<Window>(SHOWN);
    if (shown && now < until) this.send({ ...shown, slot: stream.at(now), through: stream.at(until) - 1 });
    let unsubscribe = (): void => {};
    const subscribe = (): void => void (unsubscribe = stream.subscribe((update) => this.send(update)));
    const timer = setTimeout(subscribe, Math.max(until - 1 - now, 0));
    return new Promise((resolve) => {
      addNative(left, "abort", () => {
        clearTimeout(timer);
        unsubscribe();
        this.latest.clear();
        resolve();
      });
    });
  }

  private send(update: Update): void {
    this.latest.set(update.kind, update);
    if (update.kind === "window" && update.through === update.slot) save(SHOWN, update);
    this.channel.postMessage(update);
    this.notify(update);
  }

  private receive(update: Update | null): void {
    if (update) this.notify(update);
    else this.latest.forEach((each) => this.channel.postMessage(each));
  }

  private notify(update: Update): void {
    if (this.leaving) this.listeners.forEach((listener) => listener(update));
  }
}

if (window.isSecureContext) install(new Shared());
