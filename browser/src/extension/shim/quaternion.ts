// Orientation as the Generic Sensor classes give it.
import type { Vector } from "../../platform/reading";

const HALF = Math.PI / 360;

/** (x, y, z, w) of the rotation Z (alpha), X' (beta), Y'' (gamma), in degrees. */
export function quaternion([alpha, beta, gamma]: Vector): readonly number[] {
  const [cx, sx] = [Math.cos(beta * HALF), Math.sin(beta * HALF)];
  const [cy, sy] = [Math.cos(gamma * HALF), Math.sin(gamma * HALF)];
  const [cz, sz] = [Math.cos(alpha * HALF), Math.sin(alpha * HALF)];
  return [sx * cy * cz - cx * sy * sz, cx * sy * cz + sx * cy * sz, cx * cy * sz + sx * sy * cz, cx * cy * cz - sx * sy * sz];
}

/** The rotation matrix as 16 numbers, as populateMatrix writes them. */
export function rotationMatrix(values: readonly number[]): number[] {
  const [x, y, z, w] = values as [number, number, number, number];
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 0,
    2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 0,
    2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), 0,
    0, 0, 0, 1,
  ];
}
