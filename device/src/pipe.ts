// The one way through the house: encode, charge, privatise, decode.
import type { Bundle, WhenSpent } from "./bundle";
import { DiscreteChannel } from "./channel";
import { SystemEntropy } from "./entropy";
import { Episodes, type Hold, observingOf, ownOf } from "./episodes";
import { BudgetError } from "./errors";
import { codeOf } from "./evidence";
import { engineRandom } from "./host";
import type { Ledger } from "./ledger";
import { below } from "./sampling";

/** What an episode releases: a fresh variant of its one draw for every window; where there are none, the draw again. */
type Drawn = () => Float64Array | null;

/** A live stream of windows in units through a bundle. Pages get a window one slot late, or an episode, if it is whole. */
export class Pipe {
  private readonly episodes: Episodes<Float64Array, Drawn>;
  private readonly entropy: SystemEntropy;
  private readonly shown = new Map<number, Drawn>(); // by window, until its slot is over
  private readonly delay: number;
  private readonly listens: number;
  private filler: { episode: number; drawn: Drawn } | null = null;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly bundle: Bundle,
    private readonly ledger: Ledger,
    private readonly hold: Hold,
    private readonly whenSpent: WhenSpent,
    random = engineRandom(),
  ) {
    this.entropy = new SystemEntropy(random);
    const observing = observingOf(hold, bundle.promise.guarantee === "named");
    this.episodes = new Episodes(hold, observing);
    this.delay = observing.observe === "whole" ? hold.windows : 1;
    this.listens = ownOf(hold, observing);
  }

  /** The slot in which a stream that is heard from `slot` on begins to leave, if nothing of it is missed. */
  begins(slot: number): number {
    const { windows } = this.hold;
    return slot + (this.delay > 1 ? windows : Math.min(this.listens, windows - (slot % windows)));
  }

  /** What leaves in the slot in which the stream begins: a placeholder, where a draw is held longer than a window. */
  async begin(slot: number): Promise<Float64Array | null> {
    return this.hold.windows > 1 ? this.filled(slot) : null;
  }

  /** A slot is over, with its private window, or null where it is missing; what leaves in the next slot, or null where nothing may. */
  push(slot: number, window: Float64Array | null, now: number): Promise<Float64Array | null> {
    const released = this.last.then(() => this.step(slot, window, now)); // one after the other: no draw is made twice
    this.last = released.catch(() => {});
    return released;
  }

  private async step(slot: number, window: Float64Array | null, now: number): Promise<Float64Array | null> {
    this.episodes.take(slot, window);
    for (const { episode, observed } of this.episodes.due()) episode.show(await this.drawn(observed, now));
    for (const { number, drawn } of this.episodes.leaving()) this.shown.set(number, drawn);
    this.episodes.expire();
    for (const number of this.shown.keys()) if (number <= slot - this.delay) this.shown.delete(number);
    const drawn = this.shown.get(slot + 1 - this.delay);
    return drawn ? drawn() : this.filled(slot + 1);
  }

  /** Where there is no draw to show: the same public window for as long as a draw would be held. */
  private filled(slot: number): Float64Array | null {
    const episode = Math.floor(slot / this.hold.windows);
    if (this.filler?.episode !== episode) this.filler = { episode, drawn: this.placeholder() };
    return this.filler.drawn();
  }

  private async drawn(windows: Float64Array[], now: number): Promise<Drawn> {
    const code = codeOf(this.bundle, windows);
    const { mechanism, promise } = this.bundle;
    try {
      await this.ledger.charge(promise.charge, now); // a crash may waste budget, never overspend it
    } catch (error) {
      if (error instanceof BudgetError) return this.whenSpent === "placeholder" ? this.placeholder() : () => null;
      throw error;
    }
    return this.repeated(mechanism.privatise(code, this.entropy));
  }

  /** Noise around no window at all: any public output alike, or noise around the middle of the range. ε = 0. */
  private placeholder(): Drawn {
    const { mechanism } = this.bundle;
    if (mechanism.publicOutputs === null) {
      return this.repeated(mechanism.privatise(new Float64Array(mechanism.dim).fill(NaN), this.entropy));
    }
    return this.repeated(Float64Array.from(below(BigInt(mechanism.publicOutputs), 1, this.entropy), Number));
  }

  private repeated(noisyCode: Float64Array): Drawn {
    const { mechanism } = this.bundle;
    const first = this.bundle.decode(noisyCode);
    if (!(mechanism instanceof DiscreteChannel) || this.hold.windows === 1) return () => first;
    const output = mechanism.outputOf(noisyCode[0]!);
    return () => this.bundle.decode(mechanism.variantsOf(output, 1, this.entropy));
  }
}
