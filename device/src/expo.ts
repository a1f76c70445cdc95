// The API of expo-sensors over released motion: an app changes one import.
import {
  Accelerometer as RawAccelerometer,
  type AccelerometerMeasurement,
  DeviceMotion as RawDeviceMotion,
  type DeviceMotionMeasurement,
  Gyroscope as RawGyroscope,
  type GyroscopeMeasurement,
} from "expo-sensors";
import type { Imported } from "./bundle";
import { InputError } from "./errors";
import type { Host } from "./host";
import { Motion, type Options, type Protection } from "./motion/motion";
import type { Reading, Vector } from "./motion/reading";
import type { Raw } from "./motion/source";

export type { AccelerometerMeasurement, DeviceMotionMeasurement, GyroscopeMeasurement } from "expo-sensors";
export type { Remaining } from "./ledger";
export type { Options, Protection } from "./motion/motion";
export type { State, Status } from "./motion/status";
export { storeIn } from "./storage";

export const Gravity = 9.80665;
const RADIAN = 180 / Math.PI;
const INTERVAL_MS = 100; // until setUpdateInterval is called
const AXES = ["x", "y", "z"] as const;
type Axes = { readonly [axis in (typeof AXES)[number]]: number };

type RawSensor = typeof RawAccelerometer | typeof RawGyroscope | typeof RawDeviceMotion;
type Subscription = ReturnType<typeof RawAccelerometer.addListener>;

let motion: Motion | null = null;

/** Call once, before anything listens, with the protector and what this phone gives; returns its status and budget. */
export function protect(
  protector: Imported,
  host: Omit<Host, "now"> & Partial<Pick<Host, "now">>,
  options: Options = {},
): Protection {
  if (motion) throw new InputError("a protector is in place; protect is called once");
  motion = new Motion(protector, { now: Date.now, ...host }, { start: startRaw }, options);
  return motion;
}

/** Starts only what the policy reads; the phone's own sensors are in g and radians. */
function startRaw(streams: ReadonlySet<string>, intervalMs: number, read: (raw: Raw) => void): () => void {
  const started: Subscription[] = [];
  if (streams.has("accelerationIncludingGravity")) {
    RawAccelerometer.setUpdateInterval(intervalMs);
    const listener = (value: Axes) => read({ accelerationIncludingGravity: vector(value, Gravity) });
    started.push(RawAccelerometer.addListener(listener));
  }
  if (streams.has("rotationRate")) {
    RawGyroscope.setUpdateInterval(intervalMs);
    started.push(RawGyroscope.addListener((value) => read({ rotationRate: vector(value, RADIAN) })));
  }
  if (streams.has("acceleration")) {
    RawDeviceMotion.setUpdateInterval(intervalMs);
    const listener = ({ acceleration }: DeviceMotionMeasurement) =>
      read({ acceleration: acceleration && vector(acceleration, 1) });
    started.push(RawDeviceMotion.addListener(listener));
  }
  return () => started.forEach((each) => each.remove());
}

function vector({ x, y, z }: Axes, factor: number): Vector {
  return [x * factor, y * factor, z * factor];
}

/** One sensor of expo-sensors; permissions and availability are passed through from the phone. */
class Sensor<Measurement> {
  private readonly stops = new Map<Subscription, () => void>();
  private intervalMs = INTERVAL_MS;

  constructor(
    private readonly raw: RawSensor,
    private readonly measure: (reading: Reading, seconds: number, intervalMs: number) => Measurement,
  ) {}

  addListener(listener: (event: Measurement) => void): Subscription {
    if (!motion)
      throw new InputError("no protector is in place; call protect(protector, host) before anything listens");
    const { intervalMs } = this;
    const stop = motion.listen((reading, now) => listener(this.measure(reading, now / 1000, intervalMs)), intervalMs);
    const subscription = { remove: () => this.removeSubscription(subscription) };
    this.stops.set(subscription, stop);
    return subscription;
  }

  hasListeners(): boolean {
    return this.stops.size > 0;
  }

  getListenerCount(): number {
    return this.stops.size;
  }

  removeAllListeners(): void {
    this.stops.forEach((_, subscription) => this.removeSubscription(subscription));
  }

  removeSubscription(subscription: Subscription): void {
    this.stops.get(subscription)?.();
    this.stops.delete(subscription);
  }

  /** Applies to listeners added from now on. */
  setUpdateInterval(intervalMs: number): void {
    this.intervalMs = intervalMs;
  }

  isAvailableAsync(): ReturnType<RawSensor["isAvailableAsync"]> {
    return this.raw.isAvailableAsync();
  }

  getPermissionsAsync(): ReturnType<RawSensor["getPermissionsAsync"]> {
    return this.raw.getPermissionsAsync();
  }

  requestPermissionsAsync(): ReturnType<RawSensor["requestPermissionsAsync"]> {
    return this.raw.requestPermissionsAsync();
  }
}

class DeviceMotionSensor extends Sensor<DeviceMotionMeasurement> {
  readonly Gravity = Gravity;
}

function axes(vector: Vector | null, factor: number, timestamp: number): AccelerometerMeasurement {
  const [x, y, z] = AXES.map((_, axis) => (vector?.[axis] ?? 0) * factor) as [number, number, number];
  return { x, y, z, timestamp };
}

function angles(vector: Vector | null, factor: number, timestamp: number): DeviceMotionMeasurement["rotation"] {
  const { x, y, z } = axes(vector, factor, timestamp);
  return { alpha: x, beta: y, gamma: z, timestamp };
}

export const Accelerometer = new Sensor<AccelerometerMeasurement>(RawAccelerometer, (reading, seconds) =>
  axes(reading.accelerationIncludingGravity, 1 / Gravity, seconds),
);

export const Gyroscope = new Sensor<GyroscopeMeasurement>(RawGyroscope, (reading, seconds) =>
  axes(reading.rotationRate, 1 / RADIAN, seconds),
);

export const DeviceMotion = new DeviceMotionSensor(RawDeviceMotion, (reading, seconds, interval) => ({
  acceleration: axes(reading.acceleration, 1, seconds),
  accelerationIncludingGravity: axes(reading.accelerationIncludingGravity, 1, seconds),
  rotation: angles(reading.orientation, 1 / RADIAN, seconds),
  rotationRate: angles(reading.rotationRate, 1, seconds),
  interval,
  orientation: 0,
}));
