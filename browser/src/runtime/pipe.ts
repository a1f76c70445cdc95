// The one way through the house: encode, charge, privatise, decode.
import type { Bundle } from "./bundle";
import { DiscreteChannel } from "./channel";
import { SystemEntropy } from "./entropy";
import { Episodes, type Hold } from "./episodes";
import { BudgetError } from "./errors";
import { codeOf } from "./evidence";
import type { Ledger } from "./ledger";

/** What an episode releases: a fresh variant of its one draw for every window; where there are none, the draw again. */
type Drawn = () => Float64Array;

/** A live stream of windows in units through a bundle. */
export class Pipe {
  private readonly episodes: Episodes<Float64Array, Drawn>;
  private readonly entropy = new SystemEntropy();

  constructor(private readonly bundle: Bundle, private readonly ledger: Ledger, hold: Hold) {
    this.episodes = new Episodes(hold);
  }

  /** The private window of a slot is complete; what leaves in the next slot, or null where nothing may. */
  async push(slot: number, window: Float64Array, now: number): Promise<Float64Array | null> {
    this.episodes.add(slot, window);
    try {
      const drawn = await this.episodes.at(slot + 1, (windows) => this.draw(windows, now));
      return drawn && drawn();
    } catch (error) {
      if (error instanceof BudgetError) return null;
      throw error;
    }
  }

  /** A public window drawn without looking at any data: ε = 0. */
  placeholder(): Float64Array {
    const { mechanism } = this.bundle;
    if (mechanism instanceof DiscreteChannel) {
      const outputs = mechanism.weights[0]!.length;
      const output = Number(this.entropy.words(1)[0]! % BigInt(outputs));
      return this.bundle.decode(mechanism.variantsOf(output, 1, this.entropy));
    }
    return this.bundle.decode(mechanism.privatise(new Float64Array(mechanism.dim).fill(NaN), this.entropy));
  }

  private async draw(windows: Float64Array[], now: number): Promise<Drawn> {
    const code = codeOf(this.bundle, windows);
    const { mechanism } = this.bundle;
    await this.ledger.charge(mechanism.event.epsilon, now); // a crash may waste budget, never overspend it
    const noisyCode = mechanism.privatise(code, this.entropy);
    if (!(mechanism instanceof DiscreteChannel)) {
      const released = this.bundle.decode(noisyCode);
      return () => released;
    }
    const output = mechanism.outputOf(noisyCode[0]!);
    return () => this.bundle.decode(mechanism.variantsOf(output, 1, this.entropy));
  }
}
