// The API of @capacitor/motion, checked against the types of the real package: same calls, same units, released data.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { AccelListenerEvent, MotionPlugin, RotationRate } from "@capacitor/motion";
import { Motion, type Protection, protect, storeIn } from "../src/capacitor";
import { type Charges, spending } from "../src/ledger";
import { Motion as RawMotion } from "./fakes/motion";
import { exportedOf } from "./vectors";

const face: MotionPlugin = Motion;
let protection: Protection;
const kept = new Map<string, string>();
/** The calls of @capacitor/preferences that are used. */
const Preferences = {
  get: async ({ key }: { key: string }) => ({ value: kept.get(key) ?? null }),
  set: async ({ key, value }: { key: string; value: string }) => void kept.set(key, value),
};
const store = storeIn({
  getItem: async (key) => (await Preferences.get({ key })).value,
  setItem: (key, value) => Preferences.set({ key, value }),
});

async function run(ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 10) {
    const raw = { x: 40, y: Math.sin(at), z: 9 };
    RawMotion.play("accel", {
      acceleration: raw,
      accelerationIncludingGravity: raw,
      rotationRate: { alpha: 700, beta: 0, gamma: 0 },
      interval: 16,
    });
    mock.timers.tick(10);
    for (let turn = 0; turn < 6; turn += 1) await new Promise(setImmediate);
  }
}

test("listening before there is a protector is an error", async () => {
  await assert.rejects(
    face.addListener("accel", () => {}),
    /call protect/,
  );
});

test("the example of the package's documentation runs, and gets released data", async () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_700_000_000_000 });
  protection = protect(exportedOf("channel ldp"), { store });
  const events: AccelListenerEvent[] = [];
  const accelHandler = await face.addListener("accel", (event) => {
    events.push(event);
  });
  await run(3000);
  await accelHandler.remove();
  assert.equal(RawMotion.count("accel"), 0);
  assert.ok(events.length > 80, `${events.length} events in 3 s`);
  for (const { acceleration, accelerationIncludingGravity, rotationRate, interval } of events) {
    assert.ok(Math.abs(accelerationIncludingGravity.x) <= 4, "in m/s², inside the bundle's range");
    assert.ok(Number.isFinite(acceleration.x) && interval > 0);
    assert.deepEqual(rotationRate, { alpha: 0, beta: 0, gamma: 0 }, "no channel: at rest");
  }
  assert.ok(spending(JSON.parse(kept.get("deeprotect.charges")!) as Charges, Date.now()).draws > 5);
});

test("events without rotation are released, events that lack an axis of the policy are not", async () => {
  let count = 0;
  const handler = await face.addListener("accel", () => (count += 1));
  const play = async (acceleration: object | null) => {
    for (let at = 0; at < 3000; at += 10) {
      RawMotion.play("accel", { acceleration: null, accelerationIncludingGravity: acceleration, rotationRate: null });
      mock.timers.tick(10);
      for (let turn = 0; turn < 6; turn += 1) await new Promise(setImmediate);
    }
  };
  await play({ x: 1, y: null, z: 3 });
  assert.deepEqual([count, protection.status.state], [0, "sensor-missing"]);
  await play({ x: 1, y: 2, z: 3 });
  assert.ok(count > 80);
  assert.equal(protection.status.state, "live");
  await handler.remove();
});

test("orientation is that of released gravity, and all listeners can be removed at once", async () => {
  const events: RotationRate[] = [];
  await face.addListener("orientation", (event) => events.push(event));
  await face.addListener("accel", () => {});
  await run(2000);
  assert.ok(events.length > 40 && events.every(({ beta, gamma }) => Math.abs(beta) <= 180 && Math.abs(gamma) <= 90));
  await face.removeAllListeners();
  const count = events.length;
  await run(1000);
  assert.equal(events.length, count);
  assert.equal(RawMotion.count("accel"), 0);
});
