// The API of expo-sensors, checked against the types of the real package: same calls, same units, released data.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type * as Real from "expo-sensors";
import * as Raw from "./fakes/expo-sensors";
import { Accelerometer, DeviceMotion, Gyroscope, Gravity, protect, storeIn } from "../src/expo";
import { type Charges, spending } from "../src/ledger";
import { exportedOf, load } from "./vectors";

/** The public part of a sensor, without its native module. */
type Face<Sensor> = Omit<Sensor, "_nativeModule" | "_nativeEventName">;
const faces: {
  Accelerometer: Face<typeof Real.Accelerometer>;
  Gyroscope: Face<typeof Real.Gyroscope>;
  DeviceMotion: Face<typeof Real.DeviceMotion>;
} = { Accelerometer, Gyroscope, DeviceMotion };

const kept = new Map<string, string>();
const storage = {
  getItem: async (key: string) => kept.get(key) ?? null,
  setItem: async (key: string, value: string) => void kept.set(key, value),
};
const host = {
  random: (bytes: Uint8Array<ArrayBuffer>) => void crypto.getRandomValues(bytes),
  store: storeIn(storage),
};

async function run(ms: number, seconds = 0): Promise<void> {
  for (let at = 0; at < ms; at += 10) {
    Raw.Accelerometer.play({ x: 40, y: Math.sin(at), z: 1, timestamp: seconds });
    mock.timers.tick(10);
    for (let turn = 0; turn < 6; turn += 1) await new Promise(setImmediate);
  }
}

test("listening before there is a protector is an error, and starts no sensor", () => {
  assert.throws(() => Accelerometer.addListener(() => {}), /call protect/);
  assert.equal(Raw.Accelerometer.listeners.size, 0);
});

test("the example of expo's documentation runs: subscribe, faster, slower, unsubscribe", async () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_700_000_000_000 });
  const protection = protect(exportedOf("channel ldp"), host);
  assert.equal(protection.status.state, "stopped");
  assert.throws(() => protect(exportedOf("channel ldp"), host), /once/);
  let [data, times] = [{ x: 0, y: 0, z: 0 }, 0];
  let subscription: { remove(): void } | null = null;
  const _slow = () => faces.Accelerometer.setUpdateInterval(1000);
  const _fast = () => faces.Accelerometer.setUpdateInterval(16);
  const _subscribe = () => {
    subscription = faces.Accelerometer.addListener((given) => {
      data = given;
      times += 1;
    });
  };
  const _unsubscribe = () => {
    subscription?.remove();
    subscription = null;
  };
  _fast();
  _subscribe();
  await run(3000);
  const often = times;
  assert.equal(protection.status.state, "live");
  assert.deepEqual(await protection.remaining(), { perHour: null, perDay: null, inAll: null, draws: null });
  _unsubscribe();
  assert.ok(often > 80, `${often} readings in 3 s`);
  assert.equal(Raw.Accelerometer.interval, 50, "the phone's sensor runs at the bundle's rate");
  assert.equal(Raw.Accelerometer.listeners.size, 0, "and stops");
  _slow();
  _subscribe();
  times = 0;
  await run(4000);
  assert.ok(times >= 2 && times <= 4, `${times} readings in 4 s`);
  await run(1000);
  _unsubscribe();
  const after = times;
  await run(1000);
  assert.equal(times, after);
  assert.ok(Math.abs(data.x) < 1, "in g: the bundle's range is 4 m/s²");
});

test("released samples are public windows in g, whatever the phone measured", async () => {
  const bundle = load("channel ldp");
  const known = new Set<string>();
  for (let index = 0; index < bundle.mechanism.publicOutputs!; index += 1) {
    const window = bundle.decode(Float64Array.of(index));
    for (let at = 0; at < window.length; at += 3)
      known.add([...window.subarray(at, at + 3)].map((value) => value.toFixed(6)).join());
  }
  const seen: Real.AccelerometerMeasurement[] = [];
  Accelerometer.setUpdateInterval(20);
  const subscription = Accelerometer.addListener((value) => seen.push(value));
  await run(2000);
  subscription.remove();
  assert.ok(seen.length > 40);
  for (const { x, y, z, timestamp } of seen) {
    assert.ok(known.has([x, y, z].map((value) => (value * Gravity).toFixed(6)).join()), `${x} ${y} ${z}`);
    assert.ok(Math.abs(timestamp - Date.now() / 1000) < 3);
  }
});

test("sensors that the policy does not read show a phone at rest", async () => {
  const rotations: Real.GyroscopeMeasurement[] = [];
  const moved: Real.DeviceMotionMeasurement[] = [];
  const subscriptions = [
    Gyroscope.addListener((value) => rotations.push(value)),
    DeviceMotion.addListener((value) => moved.push(value)),
  ];
  await run(2000);
  subscriptions.forEach((each) => each.remove());
  assert.equal(Raw.Gyroscope.listeners.size + Raw.DeviceMotion.listeners.size, 0);
  assert.ok(rotations.length > 5 && rotations.every(({ x, y, z }) => x === 0 && y === 0 && z === 0));
  for (const { acceleration, accelerationIncludingGravity, rotation, rotationRate, interval, orientation } of moved) {
    assert.ok([acceleration!.x, accelerationIncludingGravity.z, rotation.beta].every(Number.isFinite));
    assert.ok(Math.abs(rotation.beta) <= Math.PI, "radians");
    assert.deepEqual([rotationRate!.alpha, interval, orientation], [0, 100, 0]);
  }
  assert.equal(DeviceMotion.Gravity, 9.80665);
});

test("listeners are counted and removed as in expo-sensors", () => {
  const subscriptions = [Accelerometer.addListener(() => {}), Accelerometer.addListener(() => {})];
  assert.ok(Accelerometer.hasListeners());
  assert.equal(Accelerometer.getListenerCount(), 2);
  Accelerometer.removeSubscription(subscriptions[0]!);
  assert.equal(Accelerometer.getListenerCount(), 1);
  Accelerometer.removeAllListeners();
  assert.ok(!Accelerometer.hasListeners());
});

test("permissions and availability are the phone's own", async () => {
  assert.equal(await Accelerometer.isAvailableAsync(), true);
  assert.equal((await Accelerometer.getPermissionsAsync()).granted, false);
  assert.equal((await Accelerometer.requestPermissionsAsync()).granted, true);
  assert.equal(Raw.Accelerometer.asked, 1);
});

test("draws are charged in the phone's storage", () => {
  const charges = JSON.parse(kept.get("deeprotect.charges")!) as Charges;
  assert.ok(spending(charges, Date.now()).draws > 20);
});
