// The ledger: charges are stored before noise is drawn, totals are computed, nothing is refunded.
import { BudgetError, StoreError } from "./errors";

const MINUTE = 60_000;
const HOUR = 60;
const DAY = 24 * HOUR;
const BILLION = 1e9;

/** Limits on ε in any hour, in any day and in total; null where there is no limit. */
export interface Budget {
  readonly perHour: number | null;
  readonly perDay: number | null;
  readonly inAll: number | null;
}

export const NO_BUDGET: Budget = { perHour: null, perDay: null, inAll: null };

/** The tighter of each limit: a person's choice never loosens the policy's. */
export function stricter(one: Budget, other: Budget): Budget {
  const least = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b));
  return {
    perHour: least(one.perHour, other.perHour),
    perDay: least(one.perDay, other.perDay),
    inAll: least(one.inAll, other.inAll),
  };
}

/** Charges of the last day by the minute, [minute, draws, ε], and the sums of earlier ones. */
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

/** ε left of each limit, and the draws that it pays for now; null where there is no limit. */
export interface Remaining extends Budget {
  readonly draws: number | null;
}

export class Ledger {
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    public budget: Budget = NO_BUDGET,
  ) {}

  /** Books one draw, or refuses it when the budget does not cover it; one at a time, so that no charge is lost. */
  charge(epsilon: number, now: number): Promise<void> {
    const booked = this.last.then(() => this.book(epsilon, now));
    this.last = booked.catch(() => {});
    return booked;
  }

  /** What the budget still allows, where one draw costs `epsilon`. */
  async remaining(epsilon: number, now: number): Promise<Remaining> {
    const spent = spending((await this.stored(() => this.store.load())) ?? NO_CHARGES, now);
    const left = (limit: number | null, sum: number): number | null =>
      limit === null ? null : Math.max(0, Math.floor(limit * BILLION + 1e-3) - billionths(sum)) / BILLION;
    const { perHour, perDay, inAll } = this.budget;
    const rest = {
      perHour: left(perHour, spent.hour),
      perDay: left(perDay, spent.day),
      inAll: left(inAll, spent.inAll),
    };
    const each = Object.values(rest).filter((limit) => limit !== null);
    const draws = each.map((limit) => Math.floor(billionths(limit) / billionths(epsilon)));
    return { ...rest, draws: draws.length ? Math.min(...draws) : null };
  }

  private async book(epsilon: number, now: number): Promise<void> {
    const before = (await this.stored(() => this.store.load())) ?? NO_CHARGES;
    const after = booked(before, epsilon, Math.floor(now / MINUTE));
    const spent = spending(after, now);
    const { perHour, perDay, inAll } = this.budget;
    const over = (sum: number, most: number | null): boolean => most !== null && !(sum <= most);
    if (over(spent.hour, perHour) || over(spent.day, perDay) || over(spent.inAll, inAll)) {
      throw new BudgetError("the budget is spent; wait until it frees, or raise it");
    }
    await this.stored(() => this.store.save(after));
  }

  private async stored<Value>(act: () => Promise<Value>): Promise<Value> {
    try {
      return await act();
    } catch (error) {
      throw new StoreError(`charges cannot be read or stored, so nothing is released: ${String(error)}`);
    }
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

/** Totals by sequential composition; a minute counts until all of it has left the hour or the day. */
export function spending(charges: Charges, now: number): Spending {
  const minute = Math.floor(now / MINUTE);
  // A clock set back must not free anything: charges dated in the future count, too.
  const since = (length: number) =>
    sum(charges.minutes.filter(([at]) => at >= minute - length).map(([, , each]) => each));
  return {
    draws: charges.minutes.reduce((total, [, draws]) => total + draws, charges.before.draws),
    hour: since(HOUR),
    day: since(DAY),
    inAll: sum([charges.before.epsilon, ...charges.minutes.map(([, , each]) => each)]),
  };
}

/** Exact, as Python's, where ε has at most nine decimals; longer ones are rounded up. */
function sum(epsilons: readonly number[]): number {
  return epsilons.reduce((total, each) => total + billionths(each), 0) / BILLION;
}

function billionths(epsilon: number): number {
  return Math.ceil(epsilon * BILLION - 1e-3);
}
