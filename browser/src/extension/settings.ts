// The person's settings; no default gives away more than the policy does.
import { type Budget, type Bundle, type Hold, NO_BUDGET, type Uncovered, type WhenSpent } from "deeprotect";

export interface Settings {
  /** Origins of sites that get nothing at all. */
  readonly off: readonly string[];
  /** Whether pages may know that their motion is protected. */
  readonly tell: boolean;
  readonly uncovered: Uncovered;
  readonly whenSpent: WhenSpent;
  /** Windows released under one draw, if the person wants more than the policy; null for the policy's number. */
  readonly hold: number | null;
  readonly budget: Budget;
}

export const DEFAULTS: Settings = {
  off: [],
  tell: false,
  uncovered: "rest",
  whenSpent: "placeholder",
  hold: null,
  budget: NO_BUDGET,
};

/** A longer hold costs less, but a promise from counted episodes holds only for episodes of the counted length. */
export function mayHoldLonger(bundle: Bundle): boolean {
  return bundle.promise.guarantee === "ldp" && bundle.mechanism.publicOutputs !== null;
}

export function holdOf(bundle: Bundle, settings: Settings): Hold {
  const { hold } = bundle.policy;
  return mayHoldLonger(bundle) ? { ...hold, windows: Math.max(settings.hold ?? 0, hold.windows) } : hold;
}

/** What pages get when a limit is reached; a setting cannot overrule a policy that refuses. */
export function whenSpentOf(bundle: Bundle, settings: Settings): WhenSpent {
  return bundle.policy.whenSpent === "nothing" ? "nothing" : settings.whenSpent;
}

export function isOff(settings: Settings, origin: string): boolean {
  return settings.off.includes(origin);
}

export function withSite(settings: Settings, origin: string, state: "on" | "off"): Settings {
  const others = settings.off.filter((each) => each !== origin);
  return { ...settings, off: state === "off" ? [...others, origin] : others };
}

/** The origin of the top page of the sender's tab, whichever frame sends. */
export function siteOf(sender: chrome.runtime.MessageSender | undefined): string {
  return sender?.tab?.url ? new URL(sender.tab.url).origin : "null";
}
