// One script for a site or a WebView: it must be the first, and gives all later ones released motion.
import { Bundle, type Charges, type Exported, Ledger, Slots } from "deeprotect";
import { install } from "../extension/shim/install";
import type { Giver } from "../extension/shim/link";
import { addNative, removeNative, stopNative } from "../extension/shim/natives";
import type { Said } from "../extension/messages";
import { Stream, type Window } from "../platform/stream";

/** Written before this script by `deeprotect export`. */
declare const deeprotectBundle: Exported;
/** What all windows of the site share in its storage: charges, until when the last draw holds, what was shown last, and whether there are sensors. */
const [CHARGES, UNTIL, SHOWN, SENSORS] = ["deeprotect.charges", "deeprotect.until", "deeprotect.shown", "deeprotect.sensors"];
const NAME = "deeprotect";

function kept<Value>(key: string): Value | undefined {
  return JSON.parse(localStorage.getItem(key) ?? "null") ?? undefined;
}

function keep(key: string, value: unknown): void {
  localStorage.setItem(key, JSON.stringify(value));
}

function makeStream(): Stream {
  const bundle = new Bundle(deeprotectBundle);
  const choices = { hold: bundle.policy.hold, uncovered: "rest", whenSpent: bundle.policy.whenSpent ?? "placeholder" } as const;
  const store = {
    load: async () => kept<Charges>(CHARGES),
    save: async (charges: Charges) => {
      keep(UNTIL, stream.episodeEnd);
      keep(CHARGES, charges);
    },
  };
  const listeners = new Map<unknown, (event: Event) => void>();
  const natives = {
    add: (type: string, listener: (event: DeviceMotionEvent) => void): void => {
      listeners.set(listener, (event) => {
        listener(event as DeviceMotionEvent);
        if (event.isTrusted) stopNative(event);
      });
      addNative(window, type, listeners.get(listener)!, true);
    },
    remove: (type: string, listener: unknown): void => removeNative(window, type, listeners.get(listener) ?? null, true),
  };
  const memory = {
    get has(): boolean {
      return kept<boolean>(SENSORS) === true;
    },
    set has(has: boolean) {
      keep(SENSORS, has);
    },
  };
  const stream = new Stream(new Slots(bundle, new Ledger(store, bundle.policy.budget), choices), natives, choices.whenSpent, memory);
  return stream;
}

/**
 * Of all windows of the site that read, one draws, and the others hear what it released: two of them together know no
 * more than one. The next one to draw does so when the last draw is over, and shows its window until then.
 */
class Shared implements Giver {
  private readonly listeners: ((said: Said) => void)[] = [];
  private readonly interests = new Set<string>();
  private readonly channel = new BroadcastChannel(NAME);
  private readonly latest = new Map<string, Said>();
  private stream: Stream | null = null;
  private leaving: AbortController | null = null;

  constructor() {
    addNative(document, "visibilitychange", () => this.changed());
    addNative(this.channel, "message", (event) => this.heard((event as MessageEvent<Said | null>).data));
  }

  onSaid(listener: (said: Said) => void): void {
    this.listeners.push(listener);
  }

  interest(name: string, state: "on" | "off"): void {
    if (state === "on") this.interests.add(name);
    else this.interests.delete(name);
    this.changed();
  }

  get isAsked(): boolean {
    return this.interests.size > 0;
  }

  async permission(): Promise<PermissionState> {
    return "granted";
  }

  private changed(): void {
    const wanted = this.isAsked && document.visibilityState === "visible";
    if (!wanted) {
      this.leaving?.abort();
      this.leaving = null;
    } else if (!this.leaving) {
      const leaving = (this.leaving = new AbortController());
      this.channel.postMessage(null); // what was said already?
      const { signal } = leaving;
      navigator.locks.request(NAME, { signal }, () => this.lead(signal)).catch((error) => {
        if (!signal.aborted) throw error; // else it left before its turn
      });
    }
  }

  /** Until it leaves. */
  private lead(left: AbortSignal): Promise<void> {
    const stream = (this.stream ??= makeStream());
    const [until, now] = [kept<number>(UNTIL) ?? 0, Date.now()];
    const shown = kept<Window>(SHOWN);
    if (shown && now < until) this.said({ ...shown, slot: stream.at(now), through: stream.at(until) - 1 });
    let unsubscribe = (): void => {};
    const timer = setTimeout(() => (unsubscribe = stream.subscribe((said) => this.said(said))), Math.max(until - 1 - now, 0));
    return new Promise((resolve) => {
      addNative(left, "abort", () => {
        clearTimeout(timer);
        unsubscribe();
        this.latest.clear();
        resolve();
      });
    });
  }

  private said(said: Said): void {
    this.latest.set(said.kind, said);
    if (said.kind === "window" && said.through === said.slot) keep(SHOWN, said);
    this.channel.postMessage(said);
    this.tell(said);
  }

  private heard(said: Said | null): void {
    if (said) this.tell(said);
    else this.latest.forEach((each) => this.channel.postMessage(each));
  }

  private tell(said: Said): void {
    if (this.leaving) this.listeners.forEach((listener) => listener(said));
  }
}

if (window.isSecureContext) install(new Shared());
