// A sensor's frame of reference: the device, or the screen in its present orientation.

export type Frame = "device" | "screen";

/** Three axes or a quaternion, in a frame of reference. */
export function inFrame(frame: Frame, values: readonly number[], angle = screen.orientation.angle): readonly number[] {
  if (frame === "device" || angle === 0) return values;
  return values.length === 4 ? rotatedQuaternion(values, angle) : rotatedAxes(values, angle);
}

function rotatedAxes(values: readonly number[], angle: number): number[] {
  const [x, y, z] = values as [number, number, number];
  const [c, s] = [Math.round(Math.cos(radians(angle))), Math.round(Math.sin(radians(angle)))]; // right angles: exact
  return [x * c + y * s, y * c - x * s, z];
}

/** Rotates from the screen to the device first, then as the quaternion does. */
function rotatedQuaternion(values: readonly number[], angle: number): number[] {
  const [x, y, z, w] = values as [number, number, number, number];
  const [c, s] = [Math.cos(radians(angle) / 2), Math.sin(radians(angle) / 2)];
  return [x * c + y * s, y * c - x * s, w * s + z * c, w * c - z * s];
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
