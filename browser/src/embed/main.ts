// One script for a site or a WebView: it must be the first, and gives all later ones released motion.
import { install } from "../extension/shim/install";
import type { Giver } from "../extension/shim/link";
import { addNative, removeNative } from "../extension/shim/natives";
import type { Said } from "../extension/messages";
import { Bundle, type Charges, type Exported, Ledger, Slots } from "deeprotect";
import { Source } from "../platform/source";

/** Written before this script by `deeprotect export`. */
declare const deeprotectBundle: Exported;
const CHARGES = "deeprotect.charges";

const store = {
  load: async () => JSON.parse(localStorage.getItem(CHARGES) ?? "null") as Charges | undefined,
  save: async (charges: Charges) => localStorage.setItem(CHARGES, JSON.stringify(charges)),
};

/** The browser's own events, which the shim stops: seen by whoever comes first, and once. */
class Taken {
  private listener: ((event: DeviceMotionEvent) => void) | null = null;
  private readonly seen = new WeakSet<Event>();

  readonly take = (event: Event): void => {
    if (event.type !== "devicemotion" || this.seen.has(event)) return;
    this.seen.add(event);
    this.listener?.(event as DeviceMotionEvent);
  };

  add(type: string, listener: (event: DeviceMotionEvent) => void): void {
    this.listener = listener;
    addNative(window, type, this.take, true);
  }

  remove(type: string): void {
    this.listener = null;
    removeNative(window, type, this.take, true);
  }
}

async function makeSource(taken: Taken): Promise<Source> {
  const bundle = new Bundle(deeprotectBundle);
  const choices = { hold: bundle.policy.hold, uncovered: "rest", whenSpent: bundle.policy.whenSpent ?? "placeholder" } as const;
  return new Source(new Slots(bundle, new Ledger(store, bundle.policy.budget), choices), taken);
}

/** Gives the page's own source while somebody listens and the page is seen. */
class Here implements Giver {
  private readonly listeners: ((said: Said) => void)[] = [];
  private readonly interests = new Set<string>();
  private source: Promise<Source> | null = null;
  private unsubscribe: (() => void) | null = null;
  private readonly taken = new Taken();
  readonly intercept = this.taken.take;

  constructor() {
    addNative(document, "visibilitychange", () => void this.changed());
  }

  onSaid(listener: (said: Said) => void): void {
    this.listeners.push(listener);
  }

  interest(name: string, state: "on" | "off"): void {
    if (state === "on") this.interests.add(name);
    else this.interests.delete(name);
    void this.changed();
  }

  get isAsked(): boolean {
    return this.interests.size > 0;
  }

  async permission(): Promise<PermissionState> {
    return "granted";
  }

  private async changed(): Promise<void> {
    this.source ??= makeSource(this.taken);
    const source = await this.source;
    const wanted = this.interests.size > 0 && document.visibilityState === "visible";
    if (wanted && !this.unsubscribe) this.unsubscribe = source.subscribe((said) => this.listeners.forEach((each) => each(said)));
    if (wanted || !this.unsubscribe) return;
    this.unsubscribe();
    this.unsubscribe = null;
  }
}

if (window.isSecureContext) install(new Here(), () => false);
