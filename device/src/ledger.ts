// What has been spent: charges are stored before noise is drawn, totals are computed, nothing is refunded.
import { BudgetError } from "./errors";

const MINUTE = 60_000;
const HOUR = 60;
const DAY = 24 * HOUR;

/** Most ε in any hour, in any day and in all; null is no bound. */
export interface Budget {
  readonly perHour: number | null;
  readonly perDay: number | null;
  readonly inAll: number | null;
}

export const NO_BUDGET: Budget = { perHour: null, perDay: null, inAll: null };

/** What two budgets both allow: a person's choice never loosens a policy's limit. */
export function stricter(one: Budget, other: Budget): Budget {
  const least = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b));
  return {
    perHour: least(one.perHour, other.perHour),
    perDay: least(one.perDay, other.perDay),
    inAll: least(one.inAll, other.inAll),
  };
}

/** Charges by the minute of the last day, [minute, draws, ε], and the sums of those before. */
export interface Charges {
  readonly minutes: readonly (readonly [minute: number, draws: number, epsilon: number])[];
  readonly before: { readonly draws: number; readonly epsilon: number };
}

export const NO_CHARGES: Charges = { minutes: [], before: { draws: 0, epsilon: 0 } };

export interface Store {
  load(): Promise<Charges | undefined>;
  /** Resolves when the charges would outlive a crash. */
  save(charges: Charges): Promise<void>;
}

export interface Spending {
  readonly draws: number;
  readonly hour: number;
  readonly day: number;
  readonly inAll: number;
}

export class Ledger {
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly store: Store, public budget: Budget = NO_BUDGET) {}

  /** Book one draw, or refuse it when the budget would not cover it; one after the other, so that none is lost. */
  charge(epsilon: number, now: number): Promise<void> {
    const booked = this.last.then(() => this.book(epsilon, now));
    this.last = booked.catch(() => {});
    return booked;
  }

  private async book(epsilon: number, now: number): Promise<void> {
    const before = (await this.store.load()) ?? NO_CHARGES;
    const after = booked(before, epsilon, Math.floor(now / MINUTE));
    const spent = spending(after, now);
    const { perHour, perDay, inAll } = this.budget;
    const over = (sum: number, most: number | null): boolean => most !== null && !(sum <= most);
    if (over(spent.hour, perHour) || over(spent.day, perDay) || over(spent.inAll, inAll)) {
      throw new BudgetError("the budget is spent; wait until it frees, or raise it");
    }
    await this.store.save(after);
  }
}

function booked(charges: Charges, epsilon: number, minute: number): Charges {
  const old = charges.minutes.filter(([at]) => at < minute - DAY);
  const kept = charges.minutes.filter(([at]) => at >= minute - DAY && at !== minute);
  const [, draws, spent] = charges.minutes.find(([at]) => at === minute) ?? [minute, 0, 0];
  return {
    minutes: [...kept, [minute, draws + 1, sum([spent, epsilon])]],
    before: {
      draws: old.reduce((total, [, each]) => total + each, charges.before.draws),
      epsilon: sum([charges.before.epsilon, ...old.map(([, , each]) => each)]),
    },
  };
}

/** Totals by sequential composition; a minute counts until it has wholly left the hour or the day. */
export function spending(charges: Charges, now: number): Spending {
  const minute = Math.floor(now / MINUTE);
  // A clock that was set back must not free anything: charges of the future count as of now.
  const since = (length: number) => sum(charges.minutes.filter(([at]) => at >= minute - length).map(([, , each]) => each));
  return {
    draws: charges.minutes.reduce((total, [, draws]) => total + draws, charges.before.draws),
    hour: since(HOUR),
    day: since(DAY),
    inAll: sum([charges.before.epsilon, ...charges.minutes.map(([, , each]) => each)]),
  };
}

/** Exact, as Python's, where ε has at most nine decimals: in whole billionths, a longer one rounded up. */
function sum(epsilons: readonly number[]): number {
  return epsilons.reduce((total, each) => total + Math.ceil(each * 1e9 - 1e-3), 0) / 1e9;
}
