// The one way through the house: encode, charge, privatise, decode.
import type { Bundle } from "./bundle";
import { DiscreteChannel } from "./channel";
import { SystemEntropy } from "./entropy";
import { Episodes, type Hold } from "./episodes";
import { BudgetError } from "./errors";
import { codeOf } from "./evidence";
import type { Ledger } from "./ledger";
import { chargeOf } from "./mechanism";
import { below } from "./sampling";

/** What an episode releases: a fresh variant of its one draw for every window; where there are none, the draw again. */
type Drawn = () => Float64Array;

/** What pages get when the budget is spent: public windows drawn without looking at any data, or nothing. */
export type WhenSpent = "placeholder" | "nothing";

/** A live stream of windows in units through a bundle. */
export class Pipe {
  private readonly episodes: Episodes<Float64Array, Drawn | null>;
  private readonly entropy = new SystemEntropy();

  constructor(
    private readonly bundle: Bundle,
    private readonly ledger: Ledger,
    private readonly hold: Hold,
    private readonly whenSpent: WhenSpent,
  ) {
    this.episodes = new Episodes(hold);
  }

  /** What leaves in the slot in which the stream begins: a placeholder, where a draw is held longer than a window. */
  async begin(slot: number, now: number): Promise<Float64Array | null> {
    return this.hold.windows > 1 ? this.leaving(slot, now) : null;
  }

  /** The private window of a slot is complete; what leaves in the next slot, or null where nothing may. */
  push(slot: number, window: Float64Array, now: number): Promise<Float64Array | null> {
    this.episodes.add(slot, window);
    return this.leaving(slot + 1, now);
  }

  private async leaving(slot: number, now: number): Promise<Float64Array | null> {
    const drawn = await this.episodes.at(slot, (windows) => this.drawn(windows, now), () => this.placeholder());
    return drawn && drawn();
  }

  private async drawn(windows: Float64Array[], now: number): Promise<Drawn | null> {
    const code = codeOf(this.bundle, windows);
    const { mechanism } = this.bundle;
    try {
      await this.ledger.charge(chargeOf(mechanism), now); // a crash may waste budget, never overspend it
    } catch (error) {
      if (error instanceof BudgetError) return this.whenSpent === "placeholder" ? this.placeholder() : null;
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
