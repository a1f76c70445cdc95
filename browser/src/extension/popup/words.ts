// The popup's texts, from the numbers of the bundle and the ledger.
import type { Budget, Bundle, Spending, Status } from "deeprotect";

/** The seconds that one draw lasts. */
export function holdSeconds(bundle: Bundle, windows: number): number {
  const { schema } = bundle.policy;
  return (windows * schema.window) / schema.rateHz;
}

/** What a site may infer, and what stays hidden. */
export function mayInfer(bundle: Bundle): { may: string; hidden: string } {
  const { useful } = bundle.policy;
  const event = bundle.promise;
  const factor = event.epsilon < 14 ? short(Math.exp(event.epsilon)) : `e^${short(event.epsilon)}`;
  const likely = `a reading makes anything you did look at most ${factor} times as likely as anything else`;
  const hidden = `Everything else: ${likely}. Many readings together can tell more.`;
  return {
    may: quoted(useful),
    hidden: event.noiseless ? `${hidden} What it may learn is given without noise.` : hidden,
  };
}

/** Quotes and isolates names, because the bundle's author can write anything into them. */
function quoted(names: readonly string[]): string {
  return names.map((name) => `“\u2068${name.replace(/["“”„‟″＂]/g, "'")}\u2069”`).join(", ");
}

/** The price of a reading, and how long it lasts. */
export function price(bundle: Bundle, windows: number): string {
  const event = bundle.promise;
  return `ε = ${short(event.epsilon)} for every ${duration(holdSeconds(bundle, windows))} that sites read`;
}

/** The budget that is left, as reading time; null if there is no budget. */
export function secondsLeft(budget: Budget, spent: Spending, epsilon: number, holdLasts: number): number | null {
  const left = [
    [budget.perHour, spent.hour],
    [budget.perDay, spent.day],
    [budget.inAll, spent.inAll],
  ].flatMap(([most, sum]) => (most === null ? [] : [most! - sum!]));
  if (!left.length) return null;
  return Math.max(0, Math.floor(Math.min(...left) / epsilon + 1e-9)) * holdLasts;
}

/** The budget used and left, as reading time. */
export function budgetLine(used: number, left: number | null): string {
  return `${duration(used)} read in the last day, ${left === null ? "no limit" : `${duration(left)} left`}`;
}

/** Converts hours of motion a day to a budget of ε a day. */
export function perDay(hours: number, epsilon: number, holdLasts: number): number {
  return Math.ceil((hours * 3600) / holdLasts) * epsilon;
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${short(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`;
}

export function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** The stream's status; null if no page reads. */
export function statusLine(status: Status | null): string {
  if (!status) return "No page reads motion now.";
  const { state, secondsToFirstWindow: seconds, reason } = status;
  const lines: { readonly [state in Status["state"]]: string } = {
    stopped: "No page reads motion now.",
    starting: `Starting: the first reading comes in ${duration(Math.ceil(seconds ?? 0))}.`,
    live: "Live.",
    placeholder: "Made-up motion: no readings come from the sensors.",
    "sensor-missing": "A sensor that the protector needs gives no readings.",
    "budget-spent": "The budget is used up.",
    "store-failed": "Stopped: the budget cannot be stored.",
    "clock-moved": "Starting again: the clock was set back.",
    failed: `Stopped by an error: ${reason ?? "unknown"}`,
  };
  return lines[state];
}
