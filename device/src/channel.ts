// The discrete channel: one of K codes in, one of J public outputs out, drawn exactly from integers out of 2^64.
import { LONGEST_CODE, type Secret, confidenceSets } from "./calibration";
import { asciiText } from "./canonical";
import { Tables } from "./combinations";
import { BundleError, InputError } from "./errors";
import type { Entropy } from "./entropy";
import { type Event, checkNames } from "./event";
import { sha256 } from "./hash";
import { logUp } from "./logarithm";
import type { Certified, Mechanism } from "./mechanism";
import { WHOLE, type Weights, columns, ldpRatio, max, min, namedRatio } from "./ratios";
import type { Record } from "./record";
import { below } from "./sampling";
import { rint } from "./rounding";

const ROW = /^[0-9]{1,20}(?: [0-9]{1,20})*$/;
const MOST_CODES = 1 << 11;
const MOST_VARIANTS = 1 << 20;
const RARELY = WHOLE / 1_000_000n; // a code that leaves otherwise less often than this leaves without noise

/** Code z becomes output j with probability weights[z][j] / 2^64, then a variant is drawn uniformly. */
export class DiscreteChannel implements Mechanism {
  readonly name = "channel";
  readonly dim = 1;
  readonly takesWindows = false;
  readonly publicOutputs: number;
  readonly ldpEpsilon: number;
  readonly namedEpsilons: readonly number[];
  private readonly thresholds: readonly { last: bigint; column: number }[][];

  private constructor(
    readonly event: Event,
    readonly weights: Weights,
    readonly variants: number,
    readonly tables: Tables,
    readonly ldpCeiling: number | null,
    readonly codes: readonly string[],
    readonly outputs: readonly string[],
  ) {
    this.checkShape();
    this.checkEvent();
    this.publicOutputs = weights[0]!.length * variants;
    this.ldpEpsilon = logUp(ldpRatio(weights));
    this.namedEpsilons = confidenceSets(this.secrets, event.confidence).map((ends) => logUp(namedRatio(weights, ends)));
    this.checkEpsilons();
    this.thresholds = weights.map(lastWords);
  }

  static read(record: Record, event: Event): DiscreteChannel {
    record.only("kind", "name", "event", "weights", "prior", "cost", "variants", "secrets", "ldp_ceiling", "codes", "outputs");
    const [rows, ceiling, secrets] = [record.texts("weights"), record.floats("ldp_ceiling"), record.inner("secrets")];
    if (ceiling.length > 1 || !rows.every((row) => ROW.test(row)) || record.text("name") !== "channel") {
      throw new BundleError("mechanism: a channel needs rows of whole numbers, secrets, at most one ldp_ceiling");
    }
    if (Object.keys(secrets.fields).sort().join("\n") !== [...event.inferences].sort().join("\n")) {
      throw new BundleError("mechanism: 'secrets' must be the event's inferences; restore the bundle");
    }
    const weights = rows.map((row) => row.split(" ").map(BigInt));
    checkCosts(record, weights);
    return new DiscreteChannel(
      event,
      weights,
      record.integer("variants"),
      Tables.read(secrets, event.inferences),
      ceiling[0] ?? null,
      record.texts("codes"),
      record.texts("outputs"),
    );
  }

  get secrets(): readonly Secret[] {
    return this.tables.secrets;
  }

  /** Released indices for codes; total in its input: NaN is code 0, others go to the nearest. */
  privatise(codes: Float64Array, entropy: Entropy): Float64Array {
    const words = entropy.words(codes.length);
    const outputs = Array.from(codes, (code, row) => this.draw(code, words[row]!));
    const variants = below(BigInt(this.variants), codes.length, entropy);
    return Float64Array.from(outputs, (output, row) => output * this.variants + Number(variants[row]));
  }

  /** Only the variant is drawn again: data-independent, so it costs nothing. */
  variantsOf(output: number, count: number, entropy: Entropy): Float64Array {
    if (!(output >= 0 && output < this.weights[0]!.length)) throw new InputError("no such output of the channel");
    const drawn = below(BigInt(this.variants), count, entropy);
    return Float64Array.from(drawn, (variant) => output * this.variants + Number(variant));
  }

  /** The output behind a released index. */
  outputOf(index: number): number {
    return Math.floor(index / this.variants);
  }

  async certified(): Promise<Certified> {
    return {
      derived_epsilon: this.secrets.length ? Math.max(...this.namedEpsilons) : this.ldpEpsilon,
      ldp_epsilon: Number.isFinite(this.ldpEpsilon) ? this.ldpEpsilon : null,
      ldp_ceiling: this.ldpCeiling,
      codes: this.weights.length,
      outputs: this.weights[0]!.length,
      variants: this.variants,
      codes_without_noise: this.codesWithoutNoise,
      integers_sha256: await this.digest(),
    };
  }

  /** Codes that leave as one fixed output; 0 where it is the same for all, because that tells nothing. */
  get codesWithoutNoise(): number {
    const alike = columns(this.weights).some((column) => WHOLE - min(column) < RARELY);
    return alike ? 0 : this.weights.filter((row) => WHOLE - max(row) < RARELY).length;
  }

  private draw(code: number, word: bigint): number {
    const nearest = Math.min(Math.max(rint(Number.isNaN(code) ? 0 : code), 0), this.weights.length - 1);
    return this.thresholds[nearest]!.find(({ last }) => word <= last)!.column;
  }

  private checkShape(): void {
    const { weights, variants } = this;
    const width = weights[0]?.length ?? 0;
    if (!width || weights.length > MOST_CODES || weights.some((row) => row.length !== width)) {
      throw new BundleError(`mechanism: a channel needs 1 to ${MOST_CODES} rows of weights of one length`);
    }
    if (weights.some((row) => row.reduce((sum, weight) => sum + weight, 0n) !== WHOLE)) {
      throw new BundleError("mechanism: each row of a channel's weights must sum to 2^64");
    }
    if (variants < 1 || variants > MOST_VARIANTS) throw new BundleError("mechanism: a channel has too many variants or none");
    if (![0, weights.length].includes(this.codes.length) || ![0, width].includes(this.outputs.length)) {
      throw new BundleError("mechanism: a channel's labels must be one for each code and output, or none");
    }
    if (this.secrets.some((secret) => secret.counts[0]!.length !== weights.length)) {
      throw new BundleError("mechanism: the counts of a sensitive inference must have one column for each code");
    }
    checkNames([...this.codes, ...this.outputs], "the name of a code", LONGEST_CODE);
  }

  /** The event says no less than the integers are checked against. */
  private checkEvent(): void {
    const { event, secrets } = this;
    const named = secrets.length > 0;
    const epsilon = named ? Math.max(...secrets.map((secret) => secret.epsilon)) : (this.ldpCeiling ?? NaN);
    const inferences = [...new Set(secrets.map((secret) => secret.inference))];
    const says = event.guarantee === (named ? "named" : "ldp") && event.epsilon === epsilon && !event.delta;
    if (!says || inferences.join("\n") !== event.inferences.join("\n")) {
      throw new BundleError("mechanism: the event does not state what the channel is checked for");
    }
    this.tables.check(event, this.outputs);
    if (!named && event.confidence !== 1) throw new BundleError("mechanism: ldp holds with confidence 1; state it");
  }

  private checkEpsilons(): void {
    if (this.ldpCeiling !== null && this.ldpEpsilon > this.ldpCeiling) {
      throw new BundleError("mechanism: the weights give a larger ldp epsilon than is stated; train again");
    }
    if (this.secrets.some((secret, index) => this.namedEpsilons[index]! > secret.epsilon)) {
      throw new BundleError("mechanism: the weights give a larger named epsilon than is stated; train again");
    }
  }

  private digest(): Promise<string> {
    const rows = this.weights.map((row) => asciiText(row.join(" ")));
    const secrets = this.secrets.map(({ inference, classes, counts }) => {
      return list([asciiText(inference), list(classes.map(asciiText)), list(counts.map((row) => list(row)))]);
    });
    const given = this.event.given.length ? [list(this.secrets.map((each) => asciiText(each.given)))] : [];
    return sha256(new TextEncoder().encode(list([list(rows), this.variants, list(secrets), ...given])));
  }
}

function list(items: readonly (string | number)[]): string {
  return `[${items.join(", ")}]`;
}

/** The possible outputs of a code, each with the last word that gives it: 2^64 - 1 for the last of them. */
function lastWords(row: readonly bigint[]): { last: bigint; column: number }[] {
  let sum = 0n;
  const all = row.map((weight, column) => ({ weight, column, last: (sum += weight) - 1n }));
  return all.filter(({ weight }) => weight > 0n);
}

/** They are for people who read the bundle; here they only have to fit. */
function checkCosts(record: Record, weights: Weights): void {
  const [prior, cost] = [record.floats("prior"), record.matrix("cost")];
  if (prior.length !== weights.length || cost.length !== weights.length || cost[0]!.length !== weights[0]!.length) {
    throw new BundleError("mechanism: a channel needs one prior for each code and one cost for each code and output");
  }
}
