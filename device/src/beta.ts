// Tails of binomial counts: the regularised incomplete beta function, by Lentz's continued fraction.

const TINY = 1e-300;
const MOST_STEPS = 100_000;
// Stirling's series for ln Γ, Bernoulli numbers over 2k (2k - 1).
const SERIES = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156];

/** P(X <= found) for X binomial. */
export function atMost(found: number, trials: number, share: number): number {
  return found >= trials ? 1 : regularised(trials - found, found + 1, 1 - share, share);
}

/** P(X >= found) for X binomial. */
export function atLeast(found: number, trials: number, share: number): number {
  if (found <= 0) return 1;
  return found > trials ? 0 : regularised(found, trials - found + 1, share, 1 - share);
}

/** I_x(a, b) with y = 1 - x given apart, so that neither loses digits. */
function regularised(a: number, b: number, x: number, y: number): number {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const front = Math.exp(a * Math.log(x) + b * Math.log(y) + logGamma(a + b) - logGamma(a) - logGamma(b));
  return x < (a + 1) / (a + b + 2) ? (front * fraction(a, b, x)) / a : 1 - (front * fraction(b, a, y)) / b;
}

function fraction(a: number, b: number, x: number): number {
  let [c, d] = [1, 1 / nonzero(1 - ((a + b) * x) / (a + 1))];
  let value = d;
  for (let m = 1; m < MOST_STEPS; m += 1) {
    let step = 1;
    for (const term of terms(a, b, x, m)) {
      d = 1 / nonzero(1 + term * d);
      c = nonzero(1 + term / c);
      step = c * d;
      value *= step;
    }
    if (Math.abs(step - 1) < 1e-16) break;
  }
  return value;
}

function terms(a: number, b: number, x: number, m: number): [number, number] {
  const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
  const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
  return [even, odd];
}

function nonzero(value: number): number {
  return Math.abs(value) < TINY ? TINY : value;
}

export function logGamma(value: number): number {
  let [x, shift] = [value, 1];
  for (; x < 15; x += 1) shift *= x;
  let sum = 0;
  for (let k = SERIES.length - 1; k >= 0; k -= 1) sum = sum / (x * x) + SERIES[k]!;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + sum / x - Math.log(shift);
}
