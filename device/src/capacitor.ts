// The API of @capacitor/motion over released motion: an app changes one import.
import {
  type AccelListener,
  type MotionPlugin,
  type OrientationListener,
  Motion as RawMotion,
} from "@capacitor/motion";
import type { Imported } from "./bundle";
import { InputError } from "./errors";
import { type Host, engineRandom } from "./host";
import { type Options, Motion as Protected, type Protection } from "./motion/motion";
import type { Reading, Vector } from "./motion/reading";
import type { Raw } from "./motion/source";

export type {
  AccelListener,
  AccelListenerEvent,
  Acceleration,
  MotionPlugin,
  OrientationListener,
  OrientationListenerEvent,
  RotationRate,
} from "@capacitor/motion";
export type { Remaining } from "./ledger";
export type { Options, Protection } from "./motion/motion";
export type { State, Status } from "./motion/status";
export { storeIn } from "./storage";

const INTERVAL_MS = 1000 / 60; // the rate of a WebView's motion events

let motion: Protected | null = null;

/** Call once, before anything listens; a WebView has random bits of its own. Returns its status and budget. */
export function protect(
  protector: Imported,
  host: Pick<Host, "store"> & Partial<Host>,
  options: Options = {},
): Protection {
  if (motion) throw new InputError("a protector is in place; protect is called once");
  const filled = { now: Date.now, random: host.random ?? engineRandom(), ...host };
  motion = new Protected(protector, filled, { start: startRaw }, options);
  return motion;
}

/** The plugin passes on the WebView's events, in which every stream and every axis may be null. */
function startRaw(_: unknown, __: number, read: (raw: Raw) => void): () => void {
  const added = RawMotion.addListener("accel", ({ acceleration, accelerationIncludingGravity, rotationRate }) => {
    read({
      acceleration: vector(acceleration, ["x", "y", "z"]),
      accelerationIncludingGravity: vector(accelerationIncludingGravity, ["x", "y", "z"]),
      rotationRate: vector(rotationRate, ["alpha", "beta", "gamma"]),
    });
  });
  return () => void added.then((handle) => handle.remove());
}

function vector<Name extends string>(
  value: { readonly [name in Name]: number | null } | null,
  [x, y, z]: readonly [Name, Name, Name],
): Vector | null {
  return value && [value[x] ?? NaN, value[y] ?? NaN, value[z] ?? NaN];
}

function axes(vector: Vector | null): { x: number; y: number; z: number } {
  const [x, y, z] = vector ?? [0, 0, 0];
  return { x, y, z };
}

function angles(vector: Vector | null): { alpha: number; beta: number; gamma: number } {
  const [alpha, beta, gamma] = vector ?? [0, 0, 0];
  return { alpha, beta, gamma };
}

const events = {
  accel: (listener: AccelListener) => (reading: Reading) =>
    listener({
      acceleration: axes(reading.acceleration),
      accelerationIncludingGravity: axes(reading.accelerationIncludingGravity),
      rotationRate: angles(reading.rotationRate),
      interval: INTERVAL_MS,
    }),
  orientation: (listener: OrientationListener) => (reading: Reading) => listener(angles(reading.orientation)),
};

class ProtectedMotion {
  private readonly stops = new Set<() => void>();

  async addListener(
    name: "accel" | "orientation",
    listener: AccelListener & OrientationListener,
  ): Promise<{ remove(): Promise<void> }> {
    if (!motion)
      throw new InputError("no protector is in place; call protect(protector, host) before anything listens");
    const stop = motion.listen(events[name](listener), INTERVAL_MS);
    this.stops.add(stop);
    return {
      remove: async () => {
        stop();
        this.stops.delete(stop);
      },
    };
  }

  async removeAllListeners(): Promise<void> {
    this.stops.forEach((stop) => stop());
    this.stops.clear();
  }
}

export const Motion: MotionPlugin = new ProtectedMotion();
