// populateMatrix of the orientation sensors: writes a quaternion as a rotation matrix into the page's object.

/** The rotation matrix as 16 numbers, as populateMatrix writes them. */
// prettier-ignore
export function rotationMatrix(values: readonly number[]): number[] {
  const [x, y, z, w] = values as [number, number, number, number];
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 0,
    2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 0,
    2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), 0,
    0, 0, 0, 1,
  ];
}

/** Refuses targets that cannot be written to first, as the browser does. */
export function populate([target]: unknown[], values: readonly number[] | null): void {
  const isMatrix = target instanceof DOMMatrix;
  if (!isMatrix) checkBuffer(target);
  if (!values) throw new DOMException("Sensor data is not available.", "NotReadableError");
  const matrix = rotationMatrix(values);
  if (isMatrix) {
    matrix.forEach((value, at) => (target[`m${Math.floor(at / 4) + 1}${(at % 4) + 1}` as "m11"] = value));
  } else {
    (target as Float64Array).set(matrix);
  }
}

function checkBuffer(target: unknown): void {
  const isArray = target instanceof Float32Array || target instanceof Float64Array;
  if (!isArray || Object.prototype.toString.call(target.buffer) === "[object SharedArrayBuffer]") {
    throw new TypeError("Unexpected type");
  }
  if (target.length < 16) throw new TypeError("Target buffer must have at least 16 elements.");
}
