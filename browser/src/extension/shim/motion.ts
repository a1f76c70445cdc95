// The browser's motion events and classes, and the features of a page's policy that each of them needs.
import type { Feature } from "../header";

export type MotionEvent = "devicemotion" | "deviceorientation" | "deviceorientationabsolute";

const BOTH = ["accelerometer", "gyroscope"] as const;
const ALL = ["accelerometer", "gyroscope", "magnetometer"] as const;

export const EVENTS: { readonly [type in MotionEvent]: readonly Feature[] } = {
  devicemotion: BOTH,
  deviceorientation: BOTH,
  deviceorientationabsolute: ALL,
};

export const CLASSES: { readonly [name: string]: readonly Feature[] } = {
  Accelerometer: ["accelerometer"],
  LinearAccelerationSensor: ["accelerometer"],
  GravitySensor: ["accelerometer"],
  Gyroscope: ["gyroscope"],
  Magnetometer: ["magnetometer"],
  UncalibratedMagnetometer: ["magnetometer"],
  AbsoluteOrientationSensor: ALL,
  RelativeOrientationSensor: BOTH,
};

/** Compares one by one: a page may have replaced the functions of arrays. */
export function isMotion(type: string): type is MotionEvent {
  return type === "devicemotion" || type === "deviceorientation" || type === "deviceorientationabsolute";
}

/** Of the names under which a page's listeners for motion are kept. */
export const PREFIX = "deeprotect-";

/** Converts the type of an event, the first argument, to a string in its place, exactly once. */
export function typeIn(args: unknown[]): string {
  const type = typeof args[0] === "string" ? args[0] : `${args[0] as string}`;
  args[0] = type;
  return type;
}
