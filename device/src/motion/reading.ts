// A released moment of motion, in the platform's units and resolution.

export type Vector = readonly [x: number, y: number, z: number];

/** m/s², degrees per second, degrees; null for streams that are withheld. */
export interface Reading {
  readonly accelerationIncludingGravity: Vector | null;
  readonly acceleration: Vector | null;
  readonly gravity: Vector | null;
  readonly rotationRate: Vector | null;
  /** alpha, beta, gamma. */
  readonly orientation: Vector | null;
}

export const NOTHING: Reading = {
  accelerationIncludingGravity: null,
  acceleration: null,
  gravity: null,
  rotationRate: null,
  orientation: null,
};

const STEP = 0.1; // m/s², °/s and °: https://www.w3.org/TR/orientation-event/

export function coarse(reading: Reading): Reading {
  const each = (vector: Vector | null) => vector && (vector.map(coarsened) as unknown as Vector);
  return {
    accelerationIncludingGravity: each(reading.accelerationIncludingGravity),
    acceleration: each(reading.acceleration),
    gravity: each(reading.gravity),
    rotationRate: each(reading.rotationRate),
    orientation: each(reading.orientation),
  };
}

function coarsened(value: number): number {
  return Math.round(value / STEP) * STEP || 0; // never minus zero
}
