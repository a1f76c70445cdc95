// The face of @capacitor/motion over released motion: an app changes one import.
import { type AccelListener, type MotionPlugin, type OrientationListener, Motion as RawMotion } from "@capacitor/motion";
import type { Imported } from "./bundle";
import { InputError } from "./errors";
import { type Host, engineRandom } from "./host";
import { Motion as Protected, type Raw } from "./motion/motion";
import type { Reading, Vector } from "./motion/reading";

export type { AccelListener, AccelListenerEvent, Acceleration, MotionPlugin, OrientationListener, OrientationListenerEvent, RotationRate } from "@capacitor/motion";
export { storeIn } from "./storage";

const INTERVAL_MS = 1000 / 60; // as a WebView gives motion

let motion: Protected | null = null;

/** Once, before anybody listens: the protector, and where its charges are kept; a WebView has random bits of its own. */
export function protect(protector: Imported, host: Pick<Host, "store"> & Partial<Host>): void {
  if (motion) throw new InputError("a protector is in place; protect is called once");
  motion = new Protected(protector, { now: Date.now, random: host.random ?? engineRandom(), ...host }, { start: startRaw });
}

function startRaw(_: unknown, __: number, read: (raw: Raw) => void): () => void {
  const vector = ({ x, y, z }: { x: number; y: number; z: number }): Vector => [x, y, z];
  const added = RawMotion.addListener("accel", ({ acceleration, accelerationIncludingGravity, rotationRate }) => {
    const turned: Vector = [rotationRate.alpha, rotationRate.beta, rotationRate.gamma];
    read({ acceleration: vector(acceleration), accelerationIncludingGravity: vector(accelerationIncludingGravity), rotationRate: turned });
  });
  return () => void added.then((handle) => handle.remove());
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

  async addListener(name: "accel" | "orientation", listener: AccelListener & OrientationListener): Promise<{ remove(): Promise<void> }> {
    if (!motion) throw new InputError("no protector is in place; call protect(protector, host) before anything listens");
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
