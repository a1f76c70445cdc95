// The discrete channel: one of K codes in, one of J public outputs out, drawn exactly from integers out of 2^64.
import type { Entropy } from "./entropy";
import { InputError } from "./errors";
import type { Mechanism } from "./mechanism";
import { rint } from "./rounding";
import { below } from "./sampling";

export interface ChannelFields {
  readonly kind: "channel";
  /** One row per code: integers that sum to 2^64, separated by spaces. */
  readonly weights: readonly string[];
  readonly variants: number;
}

/** Code z becomes output j with probability weights[z][j] / 2^64, then a variant is drawn uniformly. */
export class DiscreteChannel implements Mechanism {
  readonly dim = 1;
  readonly publicOutputs: number;
  private readonly variants: number;
  private readonly outputs: number;
  private readonly thresholds: readonly { last: bigint; column: number }[][];

  constructor({ weights, variants }: ChannelFields) {
    const rows = weights.map((row) => row.split(" ").map(BigInt));
    this.variants = variants;
    this.outputs = rows[0]!.length;
    this.publicOutputs = this.outputs * variants;
    this.thresholds = rows.map(lastWords);
  }

  /** Draws an index for each code. Total: NaN counts as code 0, any other value as the nearest code. */
  privatise(codes: Float64Array, entropy: Entropy): Float64Array {
    const words = entropy.words(codes.length);
    const outputs = Array.from(codes, (code, row) => this.draw(code, words[row]!));
    const variants = below(BigInt(this.variants), codes.length, entropy);
    return Float64Array.from(outputs, (output, row) => output * this.variants + Number(variants[row]));
  }

  /** Draws further variants of an output, which depends on no data and so costs nothing. */
  variantsOf(output: number, count: number, entropy: Entropy): Float64Array {
    if (!(output >= 0 && output < this.outputs)) throw new InputError("the channel does not have this output");
    const drawn = below(BigInt(this.variants), count, entropy);
    return Float64Array.from(drawn, (variant) => output * this.variants + Number(variant));
  }

  /** The output that a released index is a variant of. */
  outputOf(index: number): number {
    return Math.floor(index / this.variants);
  }

  private draw(code: number, word: bigint): number {
    const nearest = Math.min(Math.max(rint(Number.isNaN(code) ? 0 : code), 0), this.thresholds.length - 1);
    return this.thresholds[nearest]!.find(({ last }) => word <= last)!.column;
  }
}

/** The possible outputs of a code, each with the last of the 64-bit words that give it. */
function lastWords(row: readonly bigint[]): { last: bigint; column: number }[] {
  let sum = 0n;
  const all = row.map((weight, column) => ({ weight, column, last: (sum += weight) - 1n }));
  return all.filter(({ weight }) => weight > 0n);
}
