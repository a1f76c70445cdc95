// The release pipeline: encode, charge, privatise, decode.
import type { Bundle, WhenSpent } from "./bundle";
import { DiscreteChannel } from "./channel";
import { SystemEntropy } from "./entropy";
import { borderOf, Episodes, type Hold, observingOf } from "./episodes";
import { BudgetError, InputError } from "./errors";
import { codeOf } from "./evidence";
import { engineRandom } from "./host";
import type { Ledger } from "./ledger";
import { below } from "./sampling";

/** What a slot shows: a draw, a public window drawn without data, or what the policy wants once the budget is spent. */
export type Kind = "live" | "placeholder" | "budget-spent";

export interface Released {
  /** In units, flat with the channel fastest; null where nothing may leave. */
  readonly window: Float64Array | null;
  readonly kind: Kind;
}

/** What an episode releases: a fresh variant of its one draw for every window, or that draw again. */
interface Drawn {
  readonly kind: Kind;
  readonly window: () => Float64Array | null;
}

/** Releases a live stream of windows, each one slot late. */
export class Pipe {
  private readonly episodes: Episodes<Float64Array, Drawn>;
  private readonly entropy: SystemEntropy;
  private readonly shown = new Map<number, Drawn>(); // by window, until its slot is over
  private readonly listens: number;
  private readonly border: number;
  private filler: { episode: number; drawn: Drawn } | null = null;
  private part = 0; // how often the clock was set back: draws are keyed by it and by their episode
  private newest: { slot: number; now: number } | null = null;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly bundle: Bundle,
    private readonly ledger: Ledger,
    private readonly hold: Hold,
    private readonly whenSpent: WhenSpent,
    random = engineRandom(),
  ) {
    this.entropy = new SystemEntropy(random);
    const observing = observingOf(hold);
    this.episodes = new Episodes(hold, observing);
    this.border = borderOf(hold, observing);
    this.listens = Math.min(observing.windows, this.border);
  }

  /** The slot that shows the first draw of a stream whose readings are seen from `slot` on, if none are missing. */
  begins(slot: number): number {
    const { windows } = this.hold;
    const place = slot % windows;
    return slot + (place < this.border ? Math.min(this.listens, this.border - place) : windows - place + 1);
  }

  /**
   * Ends a slot with its private window, null where readings are missing; returns what the next slot shows. A slot
   * pushed twice is drawn once. One that comes again because the clock was set back is a new draw, and is charged.
   */
  push(slot: number, window: Float64Array | null, now: number): Promise<Released> {
    const released = this.last.then(() => this.step(slot, window, now)); // one after the other: no draw is made twice
    this.last = released.catch(() => {});
    return released;
  }

  private async step(slot: number, window: Float64Array | null, now: number): Promise<Released> {
    const { dim } = this.bundle.policy.schema;
    if (window && window.length !== dim) throw new InputError(`a window has ${dim} values, not ${window.length}`);
    if (this.newest && slot <= this.newest.slot) {
      if (now >= this.newest.now) return this.showing(slot + 1);
      this.part += 1;
      this.shown.clear();
    }
    this.newest = { slot, now };
    this.episodes.take(slot, window?.every(Number.isFinite) ? window : null, this.part);
    this.episodes.expire(); // a draw that could not be stored is tried again while its episode lasts
    for (const { episode, observed } of this.episodes.due()) episode.show(await this.drawn(observed, now));
    for (const { number, drawn } of this.episodes.leaving()) this.shown.set(number, drawn);
    for (const number of this.shown.keys()) if (number < slot) this.shown.delete(number);
    return this.showing(slot + 1);
  }

  private showing(slot: number): Released {
    const { kind, window } = this.shown.get(slot - 1) ?? this.filled(slot);
    return { kind, window: window() };
  }

  /** Where there is no draw to show: the same public window for as long as a draw would be held. */
  private filled(slot: number): Drawn {
    const episode = Math.floor(slot / this.hold.windows);
    if (this.filler?.episode !== episode) this.filler = { episode, drawn: this.placeholder("placeholder") };
    return this.filler.drawn;
  }

  private async drawn(windows: Float64Array[], now: number): Promise<Drawn> {
    const code = codeOf(this.bundle, windows);
    const { mechanism, promise } = this.bundle;
    try {
      await this.ledger.charge(promise.charge, now); // a crash may waste budget, never overspend it
    } catch (error) {
      if (!(error instanceof BudgetError)) throw error;
      return this.whenSpent === "placeholder"
        ? this.placeholder("budget-spent")
        : { kind: "budget-spent", window: () => null };
    }
    return this.repeated("live", mechanism.privatise(code, this.entropy));
  }

  /** Uniform over the public outputs, or noise around the middle of the range; uses no data, so ε = 0. */
  private placeholder(kind: Kind): Drawn {
    const { mechanism } = this.bundle;
    if (mechanism.publicOutputs === null) {
      return this.repeated(kind, mechanism.privatise(new Float64Array(mechanism.dim).fill(NaN), this.entropy));
    }
    return this.repeated(kind, Float64Array.from(below(BigInt(mechanism.publicOutputs), 1, this.entropy), Number));
  }

  private repeated(kind: Kind, noisyCode: Float64Array): Drawn {
    const { mechanism } = this.bundle;
    const first = this.bundle.decode(noisyCode);
    if (!(mechanism instanceof DiscreteChannel) || this.hold.windows === 1) return { kind, window: () => first };
    const output = mechanism.outputOf(noisyCode[0]!);
    return { kind, window: () => this.bundle.decode(mechanism.variantsOf(output, 1, this.entropy)) };
  }
}
