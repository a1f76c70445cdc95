// What the windows of an episode say together: the mean of what the encoder sees in each, then one code.
import type { Bundle } from "./bundle";

/** The code of several windows in units; for one window, its own. */
export function codeOf(bundle: Bundle, windows: readonly Float64Array[]): Float64Array {
  const { encoder } = bundle;
  const decision = encoder.decision;
  if (windows.length === 1) return bundle.encode(windows[0]!);
  if (!decision) return mean(windows.map((window) => bundle.encode(window)));
  const scores = windows.map((window) => encoder.scores(bundle.policy.schema.scale(window)));
  const evidence = mean(scores.map((row) => logProbabilities(row, decision.classes)));
  return Float64Array.from(decision.run(Float32Array.from(evidence)));
}

function mean(rows: readonly Float64Array[]): Float64Array {
  return rows[0]!.map((_, at) => rows.reduce((total, row) => total + row[at]!, 0) / rows.length);
}

/** Scores of several inferences side by side, each to the logarithm of its softmax. */
function logProbabilities(scores: Float32Array, classes: readonly number[]): Float64Array {
  const result = Float64Array.from(scores);
  let start = 0;
  for (const count of classes) {
    const part = result.subarray(start, start + count);
    const largest = part.reduce((a, b) => Math.max(a, b));
    const total = Math.log(part.reduce((sum, score) => sum + Math.exp(score - largest), 0)) + largest;
    part.forEach((score, at) => (part[at] = score - total));
    start += count;
  }
  return result;
}
