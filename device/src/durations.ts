// Durations as people write them, and how many windows a draw is held for.
import { BundleError } from "./errors";
import type { Hold } from "./episodes";
import { Fraction } from "./fraction";
import type { Record } from "./record";
import type { Schema } from "./schema";

const MOST_HELD_VALUES = 1 << 23;
const DURATION = /^([0-9]{1,9})(?:\.([0-9]{1,9}))? ?(ms|s|min|h|d)$/;
const MILLISECONDS: { [unit: string]: bigint } = { ms: 1n, s: 1000n, min: 60_000n, h: 3_600_000n, d: 86_400_000n };

/** Of the policy's [privacy]: every and listen; without them, one draw for each window. */
export function readHold(privacy: Record, schema: Schema): Hold {
  if (!privacy.has("every")) {
    if (privacy.has("listen")) throw new BundleError("policy: listen needs every, how long a draw is held");
    return { windows: 1, listen: 1 };
  }
  const windows = seconds(privacy.text("every")).times(decimal(schema.rateHz)).over(new Fraction(BigInt(schema.window)));
  const count = Number(windows.above);
  if (windows.below !== 1n || count < 1 || count * schema.dim > MOST_HELD_VALUES) {
    throw new BundleError("policy: every must be a whole number of windows, and not too many; train again");
  }
  const listen = privacy.has("listen") ? privacy.integer("listen") : count;
  if (listen < 1 || listen > count) throw new BundleError("policy: listen must be 1 to the windows of an episode");
  return { windows: count, listen };
}

/** Of "30 s", "1.5 min" or "1 h", exactly. */
function seconds(text: string): Fraction {
  const found = DURATION.exec(text.trim());
  const [whole, part, unit] = [found?.[1] ?? "0", found?.[2] ?? "", found?.[3] ?? "s"];
  const number = new Fraction(BigInt(whole + part), 10n ** BigInt(part.length));
  if (number.above === 0n) throw new BundleError('policy: every must be a number and a unit, such as "30 s"');
  return number.times(new Fraction(MILLISECONDS[unit]!, 1000n));
}

/** The number that a float's shortest digits say, not the binary one beside it. */
function decimal(value: number): Fraction {
  const [digits, power] = value.toExponential().split("e") as [string, string];
  const [whole, part = ""] = digits.split(".") as [string, string?];
  const exponent = Number(power) - part.length;
  const above = BigInt(whole + part);
  return exponent < 0 ? new Fraction(above, 10n ** BigInt(-exponent)) : new Fraction(above * 10n ** BigInt(exponent));
}
