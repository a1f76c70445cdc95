// Derives all streams of a moment from one released sample, so subtracting one from another reveals nothing raw.
import type { Stream } from "./channels";
import type { Reading, Vector } from "./reading";

const EARTH: Vector = [0, 0, 9.8];
const STILL: Vector = [0, 0, 0];
const SETTLING_MS = 500; // time constant of the filter that separates gravity from motion

/** What apps and pages get for sensors that the policy does not read. */
export type Uncovered = "rest" | "nothing";

/** Completes released streams to a full reading; the filter remembers released numbers only. */
export class Consistent {
  private gravity: Vector | null = null;
  private last = 0;

  constructor(private readonly uncovered: Uncovered) {}

  reading(released: { [name in Stream]?: Vector }, now: number): Reading {
    const given = released.accelerationIncludingGravity;
    const linear = released.acceleration;
    const rest = this.uncovered === "rest";
    const gravity = given ? (linear ? minus(given, linear) : this.filtered(given, now)) : linear || rest ? EARTH : null;
    const acceleration = linear ?? (given && gravity ? minus(given, gravity) : rest ? STILL : null);
    return {
      accelerationIncludingGravity: given ?? (gravity && acceleration ? plus(gravity, acceleration) : null),
      acceleration,
      gravity,
      rotationRate: released.rotationRate ?? (rest ? STILL : null),
      orientation: gravity && (given || rest) ? orientation(gravity) : null,
    };
  }

  private filtered(given: Vector, now: number): Vector {
    const share = this.gravity ? 1 - Math.exp(-Math.max(now - this.last, 0) / SETTLING_MS) : 1;
    const before = this.gravity ?? given;
    this.gravity = [0, 1, 2].map((axis) => before[axis]! + share * (given[axis]! - before[axis]!)) as unknown as Vector;
    this.last = now;
    return this.gravity;
  }
}

/** alpha, beta, gamma of a phone that faces north and whose gravity is (−cosβ sinγ, sinβ, cosβ cosγ) g. */
function orientation([x, y, z]: Vector): Vector {
  const degrees = 180 / Math.PI;
  const side = z < 0 ? -1 : 1; // cos γ is never negative, so this is the sign of cos β
  const beta = Math.atan2(y, side * Math.hypot(x, z)) * degrees;
  const gamma = Math.atan2(-x * side, Math.abs(z)) * degrees;
  return [0, Math.min(beta, 179.9), Math.min(gamma, 89.9)];
}

function plus(a: Vector, b: Vector): Vector {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
}

function minus(a: Vector, b: Vector): Vector {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}
