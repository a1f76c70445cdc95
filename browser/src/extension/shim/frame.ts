// The frame of reference of a sensor's readings: the device's own, or the screen's as it is turned now.

export type Frame = "device" | "screen";

/** Three axes, or a quaternion, as they are seen from a frame. */
export function seenFrom(frame: Frame, values: readonly number[], angle = screen.orientation.angle): readonly number[] {
  return frame === "device" || angle === 0 ? values : values.length === 4 ? turnedQuaternion(values, angle) : turnedAxes(values, angle);
}

function turnedAxes(values: readonly number[], angle: number): number[] {
  const [x, y, z] = values as [number, number, number];
  const [c, s] = [Math.round(Math.cos(radians(angle))), Math.round(Math.sin(radians(angle)))]; // quarter turns: exact
  return [x * c + y * s, y * c - x * s, z];
}

/** From the screen to the device first, and on as before. */
function turnedQuaternion(values: readonly number[], angle: number): number[] {
  const [x, y, z, w] = values as [number, number, number, number];
  const [c, s] = [Math.cos(radians(angle) / 2), Math.sin(radians(angle) / 2)];
  return [x * c + y * s, y * c - x * s, w * s + z * c, w * c - z * s];
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
