// When events come, and seen from which side: neither tells anything that was not released.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { seenFrom } from "../src/extension/shim/frame";
import { rotationMatrix } from "../src/extension/shim/matrix";
import { quaternion } from "../src/extension/shim/quaternion";
import { Channels, type Charges, Ledger, Session } from "deeprotect";
import { Source } from "../src/platform/source";
import { load } from "../../device/test/vectors";

const PLACES = ([0, 1, 2] as const).map((axis) => ({ stream: "accelerationIncludingGravity", axis, factor: 0.5 }) as const);
type Heard = (event: DeviceMotionEvent) => void;

/** The times at which a page hears something, where the device gives such readings. */
async function times(reading: (at: number) => number): Promise<number[]> {
  const bundle = load("channel ldp");
  let charges: Charges | undefined;
  const ledger = new Ledger({ load: async () => charges, save: async (given) => void (charges = given) });
  const choices = { hold: bundle.policy.hold, uncovered: "rest", whenSpent: "placeholder" } as const;
  const session = new Session(bundle, new Channels(PLACES), ledger, choices);
  let [now, heard] = [1000, (() => {}) as Heard];
  mock.timers.enable({ apis: ["setInterval"] });
  const clock = mock.method(performance, "now", () => now);
  const found: number[] = [];
  try {
    const stop = new Source(session, { add: (_, listener) => (heard = listener), remove: () => {} }).subscribe(({ kind }) => {
      if (kind === "reading") found.push(now);
    });
    for (const end = now + 3000; now < end; now += 4) {
      const [x, y, z] = [reading(now), reading(now + 1), reading(now + 2)];
      if (now % 20 === 0) heard({ isTrusted: true, accelerationIncludingGravity: { x, y, z } } as unknown as DeviceMotionEvent);
      mock.timers.tick(4);
      for (let turn = 0; turn < 8; turn += 1) await new Promise(setImmediate); // whatever is released is released now
    }
    stop();
  } finally {
    clock.mock.restore();
    mock.timers.reset();
  }
  return found;
}

test("a phone that lies still and one that is shaken are heard at the same times", async () => {
  const still = await times(() => 1);
  assert.ok(still.length > 100, `${still.length} readings`);
  assert.deepEqual(await times((at) => 30 * Math.sin(at)), still);
});

test("seen from a turned screen, axes and orientation still belong together", () => {
  const [axes, turned] = [[1, 2, 3], quaternion([30, 40, 50])];
  const world = (matrix: number[], [x, y, z]: readonly number[]) => [0, 4, 8].map((row) => matrix[row]! * x! + matrix[row + 1]! * y! + matrix[row + 2]! * z!);
  const expected = world(rotationMatrix(turned), axes);
  for (const angle of [0, 90, 180, 270]) {
    const found = world(rotationMatrix(seenFrom("screen", turned, angle)), seenFrom("screen", axes, angle));
    found.forEach((value, at) => assert.ok(Math.abs(value - expected[at]!) < 1e-9, `${angle}: ${found}`));
  }
  assert.deepEqual(seenFrom("screen", axes, 270), [-2, 1, 3]);
  assert.deepEqual(seenFrom("device", axes, 270), axes);
});
