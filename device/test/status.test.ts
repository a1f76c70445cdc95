// An app can see what its stream is doing and what the budget still allows.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Bundle, type WhenMissing } from "../src/bundle";
import { type Charges, Ledger, NO_CHARGES, spending } from "../src/ledger";
import { Motion, type Options } from "../src/motion/motion";
import type { Reading } from "../src/motion/reading";
import type { Raw } from "../src/motion/source";
import type { Status } from "../src/motion/status";
import { Pipe } from "../src/pipe";
import { Phone } from "./phone";
import { exportedOf } from "./vectors";

const moving = (at: number): Raw => ({ accelerationIncludingGravity: [Math.sin(at / 50), 1, 2] });

/** A phone and an app that listens on it. */
function started(protector = exportedOf("channel ldp"), options: Options = {}, phone = new Phone()) {
  const readings: Reading[] = [];
  const statuses: Status[] = [];
  const motion = new Motion(protector, phone.host, phone, options, phone);
  motion.onstatus = (status) => void statuses.push(status);
  const stop = motion.listen((reading) => void readings.push(reading), 20);
  return { phone, motion, stop, readings, statuses, states: () => statuses.map(({ state }) => state) };
}

/** The third channel is read from the gyroscope. */
function withGyroscope() {
  const exported = exportedOf("channel ldp");
  const [x, y] = exported.places;
  return { ...exported, places: [x!, y!, { stream: "rotationRate", axis: 0, factor: 1 } as const] };
}

const drawsOf = (phone: Phone) => spending(phone.charges ?? NO_CHARGES, phone.clock).draws;

test("a stream starts, says when its first window comes, is live, and stops", async () => {
  const { phone, motion, stop, readings, statuses, states } = started();
  assert.equal(motion.status.state, "starting");
  const first = motion.status.secondsToFirstWindow! * 1000;
  await phone.run(first, moving);
  assert.equal(readings.length, 0, "not before it said");
  await phone.run(40, moving);
  assert.ok(readings.length > 0, "and then at once");
  await phone.run(1000, moving);
  stop();
  await phone.run(20, moving);
  assert.deepEqual(states(), ["starting", "live", "stopped"]);
  assert.deepEqual(statuses.at(-1), { state: "stopped", secondsToFirstWindow: null, missing: [], reason: null });
});

test("a phone without a gyroscope shows nothing where the policy reads one, and says what is missing", async () => {
  const { phone, motion, readings, states } = started(withGyroscope());
  await phone.run(4000, moving);
  assert.equal(readings.length, 0, "no motion is made up");
  assert.equal(drawsOf(phone), 0);
  assert.deepEqual(states(), ["starting", "sensor-missing"]);
  assert.deepEqual(motion.status.missing, ["rotationRate"]);
});

test("a policy decides what a phone without a sensor shows; an app may ask for less, never for more", async () => {
  const shows = async (policy: WhenMissing | undefined, options: Options) => {
    const exported = withGyroscope();
    const whenMissing = policy && { whenMissing: policy };
    const { phone, readings } = started({ ...exported, policy: { ...exported.policy, ...whenMissing } }, options);
    await phone.run(4000, moving);
    return readings.length ? "placeholder" : "nothing";
  };
  for (const app of [undefined, "nothing", "placeholder"] as const) {
    const options = app ? { whenMissing: app } : {};
    assert.equal(await shows("nothing", options), "nothing");
    assert.equal(await shows("placeholder", options), app ?? "placeholder");
    assert.equal(await shows(undefined, options), app ?? "nothing");
  }
});

test("an app may choose public windows instead, which cost nothing and which the status names", async () => {
  const { phone, motion, readings } = started(withGyroscope(), { whenMissing: "placeholder" });
  await phone.run(4000, moving);
  assert.ok(readings.length > 100);
  assert.equal(drawsOf(phone), 0);
  assert.deepEqual([motion.status.state, motion.status.missing], ["sensor-missing", ["rotationRate"]]);
});

test("a sensor that falls silent is missing, and one that comes back is not", async () => {
  const { phone, states } = started();
  await phone.run(1000, moving);
  await phone.run(3000, () => ({}));
  await phone.run(1000, moving);
  assert.deepEqual(states(), ["starting", "live", "placeholder", "sensor-missing", "live"]);
});

test("a budget that is spent is said, and so is what it still allows", async () => {
  const exported = exportedOf("channel ldp"); // ε = 2 per draw
  const limited = { ...exported, policy: { ...exported.policy, budget: { perHour: null, perDay: null, inAll: 7 } } };
  const { phone, motion, states } = started(limited);
  assert.deepEqual(await motion.remaining(), { perHour: null, perDay: null, inAll: 7, draws: 3 });
  await phone.run(3000, moving);
  assert.deepEqual(states(), ["starting", "live", "budget-spent"]);
  assert.deepEqual(await motion.remaining(), { perHour: null, perDay: null, inAll: 1, draws: 0 });
});

test("a store that fails is said with its reason, and the stream goes on once it works", async () => {
  const phone = new Phone();
  const { store } = phone.host;
  let full = true;
  const save = (charges: Charges) => (full ? Promise.reject(new Error("disk full")) : store.save(charges));
  Object.assign(phone.host, { store: { ...store, save } });
  const { motion, readings, states } = started(exportedOf("channel ldp"), {}, phone);
  await phone.run(2000, moving);
  assert.equal(motion.status.state, "store-failed");
  assert.match(motion.status.reason!, /disk full/);
  assert.equal(readings.length, 0);
  full = false;
  await phone.run(1000, moving);
  assert.deepEqual(states(), ["starting", "store-failed", "live"]);
  assert.ok(readings.length > 20);
});

test("a clock set back by ten seconds starts the stream anew at once, and every draw is charged", async () => {
  const { phone, motion, readings, states } = started();
  await phone.run(4000, moving);
  const before = drawsOf(phone);
  phone.clock -= 10_000;
  await phone.run(400, moving);
  assert.equal(motion.status.state, "clock-moved");
  const silent = readings.length;
  await phone.run(4000, moving);
  assert.deepEqual(states(), ["starting", "live", "clock-moved", "live"]);
  assert.ok(readings.length - silent > 150, `${readings.length - silent} readings in 4 s`);
  const draws = drawsOf(phone) - before;
  assert.ok(draws >= 18 && draws <= 21, `${draws} draws for 20 slots`);
});

test("however a clock jumps, what is shown as live was charged, and readings come back", async () => {
  for (const jump of [-3_600_000, -10_000, -1000, -250, -150, -30, 30, 150, 250, 1000, 3_600_000]) {
    const { phone, motion, readings } = started();
    await phone.run(2070, moving);
    phone.clock += jump;
    await phone.run(1000, moving);
    const count = readings.length;
    await phone.run(1000, moving);
    assert.equal(motion.status.state, "live", `${jump}`);
    assert.ok(readings.length - count > 40, `${jump}: ${readings.length - count} readings in a second`);
    const windows = new Set(readings.map(({ accelerationIncludingGravity }) => String(accelerationIncludingGravity)));
    assert.ok(drawsOf(phone) > 15 && drawsOf(phone) <= 21, `${jump}: ${drawsOf(phone)} draws in 4 s`);
    assert.ok(windows.size > 4);
  }
});

test("charges are dated by the host's clock", async () => {
  const { phone } = started();
  await phone.run(1000, moving);
  assert.deepEqual(
    phone.charges!.minutes.map(([minute]) => minute),
    [Math.floor(phone.clock / 60_000)],
  );
});

test("the draws that remain are those that succeed", async () => {
  for (const [epsilon, perHour, inAll] of [
    [0.1, 0.3, null],
    [0.1, null, 0.7],
    [2.5, 10, 25],
    [1 / 3, 1, 1],
    [0.7, 2.1, null],
  ] as const) {
    let kept: Charges | undefined;
    const store = { load: async () => kept, save: async (charges: Charges) => void (kept = charges) };
    const ledger = new Ledger(store, { perHour, perDay: null, inAll });
    for (let now = 0; ;) {
      const { draws } = await ledger.remaining(epsilon, now);
      const paid = await ledger.charge(epsilon, now).then(
        () => true,
        () => false,
      );
      assert.equal(paid, draws! > 0, `ε = ${epsilon}, ${draws} draws left`);
      if (!paid && (inAll !== null || now > 0)) break;
      if (!paid) now += 2 * 3_600_000;
    }
  }
  assert.equal((await new Ledger({ load: async () => undefined, save: async () => {} }).remaining(1, 0)).draws, null);
});

test("where sensors report apart, each reading still informs one window", async () => {
  const bundle = new Bundle(withGyroscope());
  const pushed = async (changed: number): Promise<string[]> => {
    const phone = new Phone();
    const windows: string[] = [];
    mock.method(Pipe.prototype, "push", async (_: number, window: Float64Array | null) => {
      windows.push(String(window));
      return { window: null, kind: "live" };
    });
    new Motion(bundle, phone.host, phone, {}, phone).listen(() => {}, 20);
    let count = 0;
    await phone.run(2000, (at) => {
      if (at % 130 !== 0) return { accelerationIncludingGravity: [1, 2, 3] };
      count += 1;
      return { rotationRate: [count === changed ? 9 : 1, 0, 0] };
    });
    mock.restoreAll();
    return windows;
  };
  const plain = await pushed(-1);
  assert.ok(plain.length > 7);
  for (let changed = 1; changed < 16; changed += 1) {
    const differing = (await pushed(changed)).filter((window, at) => window !== plain[at]);
    assert.ok(differing.length <= 1, `reading ${changed} is in ${differing.length} windows`);
  }
});

test("whatever clocks and listeners do, no reading is in two windows, and draws are no more than windows", async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    let state = seed;
    const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
    const windows: Float64Array[] = [];
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this`
    const { push } = Pipe.prototype;
    mock.method(Pipe.prototype, "push", function (this: Pipe, slot: number, window: Float64Array | null, now: number) {
      if (window) windows.push(window);
      return push.call(this, slot, window, now);
    });
    const phone = new Phone();
    const kind = ["channel ldp", "channel held", "laplace", "laplace held"][seed % 4]!;
    const motion = new Motion(exportedOf(kind), phone.host, phone, {}, phone);
    const stops: (() => void)[] = [];
    let count = 0;
    for (let step = 0; step < 40; step += 1) {
      const choice = random();
      if (choice < 0.3) stops.push(motion.listen(() => {}, 20));
      else if (choice < 0.5) stops.splice(0).forEach((stop) => stop());
      else if (choice < 0.7) phone.clock += Math.round((random() - 0.5) * 10 ** Math.floor(1 + 5 * random()));
      await phone.run(1500 * random(), () => ({ accelerationIncludingGravity: [(count += 1), 0, 0] }));
    }
    mock.restoreAll();
    // Readings are counted, so windows that share none are ranges that do not meet.
    const ranges = windows.map((window) => [...window].filter((_, at) => at % 3 === 0)).map((x) => [x[0]!, x.at(-1)!]);
    ranges.forEach(([low], at) => assert.ok(at === 0 || low! > ranges[at - 1]![1]!, `seed ${seed}: ${String(ranges)}`));
    assert.ok(windows.length > 20 && drawsOf(phone) <= windows.length, `${drawsOf(phone)} draws, ${windows.length}`);
  }
});
