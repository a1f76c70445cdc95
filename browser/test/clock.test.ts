// The times of events and the frame of reference reveal nothing that was not released.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { inFrame } from "../src/extension/shim/frame";
import { rotationMatrix } from "../src/extension/shim/matrix";
import { quaternion } from "../src/extension/shim/quaternion";
import { Player } from "../src/extension/shim/player";
import { type Charges, Ledger, NOTHING, Slots } from "deeprotect";
import { Stream } from "../src/platform/stream";
import { load } from "../../device/test/vectors";

type OnMotion = (event: DeviceMotionEvent) => void;

function slots(kind: string): Slots {
  const bundle = load(kind);
  let charges: Charges | undefined;
  const ledger = new Ledger({ load: async () => charges, save: async (given) => void (charges = given) });
  const choices = { hold: bundle.policy.hold, uncovered: "rest", whenSpent: "placeholder" } as const;
  return new Slots(bundle, ledger, choices);
}

/** The updates, with their times, of a page that asks at `asked` after others at `others`. */
async function received(
  kind: string,
  {
    asked,
    others = [],
    reading = () => 1,
    has = false,
  }: { asked: number; others?: number[]; reading?: (at: number) => number | null; has?: boolean },
): Promise<[number, string][]> {
  let [now, tell] = [0, (() => {}) as OnMotion];
  mock.timers.enable({ apis: ["setTimeout"] });
  const clock = mock.method(Date, "now", () => now);
  const found: [number, string][] = [];
  try {
    const source = new Stream(
      slots(kind),
      { add: (_, listener) => (tell = listener), remove: () => {} },
      "placeholder",
      { has },
    );
    for (; now < 6000; now += 4) {
      if (others.includes(now)) source.subscribe(() => {});
      if (now === asked)
        source.subscribe((update) =>
          found.push([
            now,
            update.kind === "window"
              ? `window ${update.slot}`
              : update.kind === "status"
                ? update.status.state
                : update.kind,
          ]),
        );
      const [x, y, z] = [reading(now), reading(now / 2), reading(now / 3)];
      if (now % 20 === 0 && x !== null)
        tell({ isTrusted: true, accelerationIncludingGravity: { x, y, z } } as unknown as DeviceMotionEvent);
      mock.timers.tick(4);
      for (let turn = 0; turn < 8; turn += 1) await new Promise(setImmediate); // whatever is released is released now
    }
  } finally {
    clock.mock.restore();
    mock.timers.reset();
  }
  return found;
}

for (const kind of ["channel ldp", "channel held"]) {
  test(`${kind}: a phone at rest, a shaken one and a silent one give events at the same times`, async () => {
    const still = await received(kind, { asked: 100 });
    assert.ok(still.length > 20, `${still.length} windows`);
    assert.deepEqual(await received(kind, { asked: 100, reading: (at) => 30 * Math.sin(at) }), still);
    assert.deepEqual(await received(kind, { asked: 100, reading: (at) => (at > 4000 && at < 5000 ? null : 1) }), still);
  });

  test(`${kind}: a page cannot tell by when it hears something whether another one reads`, async () => {
    for (const [asked, has] of [
      [2000, false],
      [2100, true],
      [2196, false],
      [2196, true],
      [2300, true],
      [2404, false],
    ] as const) {
      const alone = await received(kind, { asked, has });
      assert.deepEqual(
        alone.slice(0, 2).map(([, update]) => update),
        ["starting", "active"],
      );
      if (has) assert.equal(alone[2]![0], asked, "a phone at rest, at once");
      for (const others of [[100], [1700, 1900], [1996]])
        assert.deepEqual(await received(kind, { asked, has, others }), alone, `${asked} after ${String(others)}`);
    }
  });

  test(`${kind}: when a page learns that there is no sensor does not reveal whether another one asked`, async () => {
    const reading = () => null;
    const alone = await received(kind, { asked: 2000, reading });
    assert.deepEqual(
      alone.map(([, update]) => update),
      ["starting", "unavailable"],
    );
    assert.deepEqual(await received(kind, { asked: 2000, others: [100], reading }), alone);
  });
}

test("windows are played at the same times, however late each of them comes", () => {
  const played = (late: number[]): number[] => {
    let now = 1000;
    const found: number[] = [];
    mock.timers.enable({ apis: ["setInterval"] });
    const clocks = [mock.method(performance, "now", () => now), mock.method(Date, "now", () => now)];
    Object.assign(globalThis, { document: { visibilityState: "visible" } });
    const player = new Player(
      (reading) => found.push(now, reading.orientation![0]),
      () => true,
    );
    const window = (slot: number) =>
      ({
        kind: "window",
        slot,
        through: slot,
        slotMs: 200,
        readings: [0, 1, 2, 3].map((row) => ({ ...NOTHING, orientation: [10 * slot + row, 0, 0] as const })),
      }) as const;
    for (; now < 3000; now += 2) {
      late.forEach((delay, at) => now === 1000 + 200 * at + delay && player.add(window(at + 5)));
      mock.timers.tick(2);
    }
    for (const each of clocks) each.mock.restore();
    mock.timers.reset();
    return found;
  };
  const even = played([0, 0, 0, 0, 0]);
  assert.equal(even.length, 2 * 5 * 4, "every reading once");
  assert.deepEqual(played([0, 40, 4, 48, 20]), even);
});

test("relative to a rotated screen, axes and orientation still agree", () => {
  const [axes, rotated] = [[1, 2, 3], quaternion([30, 40, 50])];
  const world = (matrix: number[], [x, y, z]: readonly number[]) =>
    [0, 4, 8].map((row) => matrix[row]! * x! + matrix[row + 1]! * y! + matrix[row + 2]! * z!);
  const expected = world(rotationMatrix(rotated), axes);
  for (const angle of [0, 90, 180, 270]) {
    const found = world(rotationMatrix(inFrame("screen", rotated, angle)), inFrame("screen", axes, angle));
    found.forEach((value, at) => assert.ok(Math.abs(value - expected[at]!) < 1e-9, `${angle}: ${String(found)}`));
  }
  assert.deepEqual(inFrame("screen", axes, 270), [-2, 1, 3]);
  assert.deepEqual(inFrame("device", axes, 270), axes);
});
