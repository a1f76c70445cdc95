// Orientation as the Generic Sensor classes give it.
import type { Vector } from "deeprotect";

const HALF = Math.PI / 360;

/** (x, y, z, w) of the rotation Z (alpha), X' (beta), Y'' (gamma), in degrees. */
export function quaternion([alpha, beta, gamma]: Vector): readonly number[] {
  const [cx, sx] = [Math.cos(beta * HALF), Math.sin(beta * HALF)];
  const [cy, sy] = [Math.cos(gamma * HALF), Math.sin(gamma * HALF)];
  const [cz, sz] = [Math.cos(alpha * HALF), Math.sin(alpha * HALF)];
  return [
    sx * cy * cz - cx * sy * sz,
    cx * sy * cz + sx * cy * sz,
    cx * cy * sz + sx * sy * cz,
    cx * cy * cz - sx * sy * sz,
  ];
}
