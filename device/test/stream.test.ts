// A live stream: one draw per episode, no window in two draws, nothing drawn before it is charged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Consistent } from "../src/motion/consistent";
import { Playback } from "../src/motion/playback";
import { NOTHING } from "../src/motion/reading";
import { Sampler } from "../src/motion/sampler";
import { Episodes, observedPlaces, observingOf } from "../src/episodes";
import { BudgetError, StoreError } from "../src/errors";
import { type Charges, Ledger, NO_BUDGET, NO_CHARGES, type Store, spending } from "../src/ledger";
import { Pipe } from "../src/pipe";
import { Schema } from "../src/schema";
import { load } from "./vectors";

const MINUTE = 60_000;

class Memory implements Store {
  charges: Charges | undefined;
  async load() {
    return this.charges;
  }
  async save(charges: Charges) {
    this.charges = charges;
  }
}

test("an episode listens to the middles of equal parts, as a file's does", () => {
  assert.deepEqual([...observedPlaces({ windows: 30, listen: 6 })], [2, 7, 12, 17, 22, 27]);
  assert.deepEqual([...observedPlaces({ windows: 3, listen: 2 })], [0, 2]);
  assert.deepEqual([...observedPlaces({ windows: 1, listen: 1 })], [0]);
});

test("each window informs one draw at most, and an episode has one draw", () => {
  for (const [hold, listen] of [
    [1, 1],
    [3, 2],
    [5, 5],
  ] as const) {
    for (const observe of ["beginning", "before", "whole"] as const) {
      const episodes = new Episodes<number, string>(
        { windows: hold, listen },
        { observe: hold === 1 ? "beginning" : observe, windows: observe === "whole" ? hold : listen },
      );
      const looked: number[] = [];
      const draws: number[] = [];
      for (let slot = 0; slot < 60; slot += 1) {
        if (slot % 17 === 3) continue; // windows that were missed
        episodes.take(slot, slot);
        for (const { episode, observed } of episodes.due()) {
          looked.push(...observed);
          draws.push(episode.number);
          episode.show("drawn");
        }
      }
      assert.equal(new Set(looked).size, looked.length);
      assert.equal(new Set(draws).size, draws.length);
      assert.ok(draws.length > 30 / hold);
    }
  }
});

test("the first episode is drawn from its own first windows, every later one from the end of the previous one", () => {
  const episodes = new Episodes<number, string>({ windows: 5, listen: 5 }, observingOf({ windows: 5, listen: 5 }));
  const looked: number[][] = [];
  for (let slot = 0; slot < 15; slot += 1) {
    episodes.take(slot, slot);
    for (const { episode, observed } of episodes.due()) {
      looked.push(observed);
      episode.show("drawn");
    }
  }
  assert.deepEqual(looked, [
    [0, 1],
    [2, 3, 4],
    [7, 8, 9],
  ]);
});

for (const kind of ["channel ldp", "channel held", "laplace", "laplace held"]) {
  test(`${kind}: a draw is charged before it is made, once per episode`, async () => {
    const [bundle, store] = [load(kind), new Memory()];
    const pipe = new Pipe(bundle, new Ledger(store), bundle.policy.hold, "placeholder");
    const window = new Float64Array(bundle.policy.schema.dim).fill(1);
    for (let slot = 0; slot < 12; slot += 1) {
      const { window: released } = await pipe.push(slot, window, slot * 200);
      assert.equal(released?.length, window.length);
      released.forEach((value, at) => {
        const { low, high } = bundle.policy.schema.channels[at % 3]!;
        assert.ok(value >= low && value <= high);
      });
    }
    assert.equal(spending(store.charges!, 2400).draws, 12 / bundle.policy.hold.windows);
  });
}

for (const kind of ["channel ldp", "channel held", "laplace held"]) {
  test(`${kind}: a stream that is read from any slot shows its first window in the slot that it states`, async () => {
    const bundle = load(kind);
    const window = new Float64Array(bundle.policy.schema.dim).fill(1);
    for (let first = 0; first < 2 * bundle.policy.hold.windows; first += 1) {
      const store = new Memory();
      const pipe = new Pipe(bundle, new Ledger(store), bundle.policy.hold, "placeholder");
      let slot = first;
      while (!store.charges) await pipe.push(slot++, window, 0);
      assert.equal(pipe.begins(first), slot, `read from ${first}`);
    }
  });
}

test("an episode that lacks a window before its draw is not drawn from the rest", async () => {
  const [bundle, store] = [load("channel held"), new Memory()];
  const pipe = new Pipe(bundle, new Ledger(store), bundle.policy.hold, "nothing");
  const window = new Float64Array(bundle.policy.schema.dim).fill(1);
  const made = [];
  for (const [slot, given] of [null, window, window].entries()) made.push(await pipe.push(slot, given, 0));
  assert.equal(store.charges, undefined, "nothing is drawn, so nothing is charged");
  assert.ok(
    made.every((each) => each.kind === "placeholder" && each.window?.length === window.length),
    "public windows play in its place",
  );
  await pipe.push(3, window, 0);
  assert.equal(spending(store.charges!, 0).draws, 1, "the next one is drawn");
});

test("a window that is delivered twice is drawn once and shows the same", async () => {
  const [bundle, store] = [load("channel ldp"), new Memory()];
  const pipe = new Pipe(bundle, new Ledger(store), bundle.policy.hold, "nothing");
  const window = new Float64Array(12).fill(1);
  const first = await pipe.push(7, window, 1600);
  assert.deepEqual(await pipe.push(7, window, 1601), first);
  await pipe.push(6, window, 1602);
  assert.equal(spending(store.charges!, 0).draws, 1);
});

test("a clock that is set back makes new draws, each charged, and shows none of before", async () => {
  for (const kind of ["channel ldp", "channel held"]) {
    const [bundle, store] = [load(kind), new Memory()];
    const pipe = new Pipe(bundle, new Ledger(store), bundle.policy.hold, "nothing");
    const { windows } = bundle.policy.hold;
    const window = new Float64Array(12).fill(1);
    for (let slot = 0; slot < 4 * windows; slot += 1) await pipe.push(slot, window, slot * 200 + 200);
    assert.equal(spending(store.charges!, 0).draws, 4);
    for (let slot = windows; slot < 4 * windows; slot += 1) {
      const { kind: shown } = await pipe.push(slot, slot === windows ? null : window, slot * 200 + 100);
      if (slot === windows) assert.equal(shown, "placeholder", "not the draw that this slot had before");
    }
    assert.equal(spending(store.charges!, 0).draws, 6, kind);
  }
});

test("a window with a value that is not finite counts as missing, one of another length is refused", async () => {
  const [bundle, store] = [load("channel ldp"), new Memory()];
  const pipe = new Pipe(bundle, new Ledger(store), bundle.policy.hold, "nothing");
  for (const [slot, value] of [NaN, Infinity, -Infinity].entries()) {
    const window = new Float64Array(12);
    window[5] = value;
    assert.equal((await pipe.push(slot, window, slot)).kind, "placeholder");
  }
  assert.equal(store.charges, undefined);
  await assert.rejects(pipe.push(9, new Float64Array(11), 9), /12 values, not 11/);
});

test("a draw whose charge could not be stored is tried again in its own episode only", async () => {
  const [bundle, store] = [load("channel ldp"), new Memory()];
  let full = true;
  const save = (charges: Charges) => (full ? Promise.reject(new Error("disk full")) : store.save(charges));
  const pipe = new Pipe(bundle, new Ledger({ load: () => store.load(), save }), bundle.policy.hold, "nothing");
  const window = new Float64Array(12).fill(1);
  await assert.rejects(pipe.push(0, window, 0), StoreError);
  full = false;
  assert.equal((await pipe.push(1, window, 1)).kind, "live");
  assert.equal(spending(store.charges!, 0).draws, 1);
});

test("nothing leaves when the store fails", async () => {
  const bundle = load("channel ldp");
  const broken: Store = { load: async () => undefined, save: async () => Promise.reject(new Error("disk full")) };
  const pipe = new Pipe(bundle, new Ledger(broken), bundle.policy.hold, "placeholder");
  await assert.rejects(pipe.push(0, new Float64Array(12), 0), /disk full/);
});

test("nothing measured leaves once the budget is spent", async () => {
  const [bundle, store] = [load("channel ldp"), new Memory()];
  const ledger = new Ledger(store, { ...NO_BUDGET, inAll: 5 });
  const pipe = new Pipe(bundle, ledger, bundle.policy.hold, "nothing");
  const left = [];
  for (let slot = 0; slot < 5; slot += 1) left.push(await pipe.push(slot, new Float64Array(12), 0));
  assert.deepEqual(
    left.map(({ window }) => window !== null),
    [true, true, false, false, false],
  ); // ε = 2 each
  assert.deepEqual(
    left.map(({ kind }) => kind),
    ["live", "live", "budget-spent", "budget-spent", "budget-spent"],
  );
  assert.equal(spending(store.charges!, 0).inAll, 4);
});

test("a charge counts until its whole minute has left the hour and the day", async () => {
  const ledger = new Ledger(new Memory(), { perHour: 1, perDay: 2, inAll: null });
  await ledger.charge(1, 59_999);
  await assert.rejects(ledger.charge(1, 60 * MINUTE + 59_998), BudgetError); // less than an hour later
  await ledger.charge(1, 61 * MINUTE);
  await assert.rejects(ledger.charge(1, 1440 * MINUTE + 59_998), BudgetError); // less than a day later
  await ledger.charge(1, 1441 * MINUTE);
});

test("concurrent pushes make one draw per episode", async () => {
  const [bundle, store] = [load("channel held"), new Memory()];
  const slow = new Ledger({
    load: () => later(() => store.charges),
    save: (charges) => later(() => void (store.charges = charges)),
  });
  const pipe = new Pipe(bundle, slow, bundle.policy.hold, "placeholder");
  const window = new Float64Array(bundle.policy.schema.dim).fill(1);
  await Promise.all([...Array(2 * bundle.policy.hold.windows).keys()].map((slot) => pipe.push(slot, window, 0)));
  assert.equal(spending(store.charges!, 0).draws, 2);
});

test("totals are those of the last hour and day, and no charge is forgotten", async () => {
  const store = new Memory();
  const ledger = new Ledger(store);
  for (const minute of [0, 30, 59, 90, 1500, 3000]) await ledger.charge(1, minute * MINUTE);
  const after = (minute: number) => spending(store.charges!, minute * MINUTE);
  assert.deepEqual([after(3000).hour, after(3000).day, after(3000).inAll, after(3000).draws], [1, 1, 6, 6]);
  assert.equal(spending(NO_CHARGES, 0).inAll, 0);
});

test("concurrent charges are all stored", async () => {
  const store = new Memory();
  const ledger = new Ledger({
    load: () => later(() => store.charges),
    save: (charges) => later(() => void (store.charges = charges)),
  });
  await Promise.all([1, 2, 3, 4, 5].map(() => ledger.charge(1, 0)));
  assert.equal(spending(store.charges!, 0).draws, 5);
});

function later<Value>(value: () => Value): Promise<Value> {
  return new Promise((resolve) => setImmediate(() => resolve(value())));
}

test("a clock that is set back frees nothing", async () => {
  const store = new Memory();
  const ledger = new Ledger(store, { ...NO_BUDGET, perHour: 2 });
  await ledger.charge(1, 5000 * MINUTE);
  await ledger.charge(1, 5000 * MINUTE);
  await assert.rejects(ledger.charge(1, 100 * MINUTE), BudgetError);
});

const schema = new Schema([{ name: "x", unit: "g", low: -1, high: 1, resolution: null }], 10, 5);

test("samples are means of their cells of time, windows are whole slots", () => {
  const sampler = new Sampler(schema, 1000);
  const found = [];
  for (let now = 1000; now < 3000; now += 20) {
    sampler.read([now]);
    found.push(...sampler.advance(now));
  }
  assert.deepEqual(
    found.map(({ slot }) => slot),
    [0, 1, 2],
  );
  const [first] = found;
  first!.samples.forEach((value, at) => assert.ok(Math.abs(value - (1050 + 100 * at)) <= 21, `${value}`));
});

test("a window that was interrupted is dropped", () => {
  const sampler = new Sampler(schema, 0);
  const found = [];
  for (const now of [...Array(60).keys()]
    .map((each) => each * 20)
    .concat([...Array(60).keys()].map((each) => 4210 + each * 20))) {
    sampler.read([1]);
    found.push(...sampler.advance(now).map(({ slot }) => slot));
  }
  assert.ok(found.includes(0) && found.includes(9));
  assert.ok(!found.some((slot) => slot > 2 && slot < 9), String(found));
});

test("a clock that is set back by more than a window starts with the next whole slot, by less it is waited for", () => {
  for (const [back, resumed] of [
    [10_000, true],
    [300, false],
  ] as const) {
    const sampler = new Sampler(schema, 0); // windows of 500 ms
    const found: number[] = [];
    const run = (from: number, to: number) => {
      for (let now = from; now < to; now += 20) {
        found.push(...sampler.advance(now).map(({ slot }) => slot));
        sampler.read([1]);
      }
    };
    run(20_000, 22_310);
    found.length = 0;
    run(22_310 - back, 24_600 - back);
    assert.deepEqual(found, resumed ? [25, 26, 27, 28] : [44, 45, 46, 47], `${back} ms`);
  }
});

test("a window is made of its own readings: changing one changes one window", () => {
  const times = [...Array(40).keys()].map((each) => 30 + each * 270); // slower than the policy's rate
  const windows = (changed: number): number[][] => {
    const sampler = new Sampler(schema, 0);
    const found = times.flatMap((now, at) => {
      const before = sampler.advance(now);
      sampler.read([at === changed ? 1 : 0]);
      return before;
    });
    return found.map(({ samples }) => [...samples]);
  };
  const plain = windows(-1);
  assert.ok(plain.length > 10);
  for (const at of times.keys()) {
    const differing = windows(at).filter((window, slot) => String(window) !== String(plain[slot]));
    assert.ok(differing.length <= 1, `reading ${at} is in ${differing.length} windows`);
  }
});

test("gravity and linear acceleration add up to the released acceleration", () => {
  const consistent = new Consistent("rest");
  for (let now = 0; now < 1000; now += 16) {
    const given = [Math.sin(now), Math.cos(now) * 3, 9.8] as const;
    const {
      accelerationIncludingGravity: all,
      acceleration,
      gravity,
      orientation,
    } = consistent.reading({ accelerationIncludingGravity: given }, now);
    assert.deepEqual(all, given);
    all.forEach((value, axis) => assert.ok(Math.abs(value - acceleration![axis]! - gravity![axis]!) < 1e-12));
    assert.ok(orientation!.every(Number.isFinite));
  }
});

test("orientation follows from released gravity", () => {
  const orientationOf = (gravity: readonly [number, number, number]) =>
    new Consistent("rest").reading({ accelerationIncludingGravity: gravity }, 0).orientation;
  assert.deepEqual(orientationOf([0, 0, 9.8])!.map(Math.round), [0, 0, -0]);
  assert.deepEqual(orientationOf([0, 9.8, 0])!.map(Math.round), [0, 90, -0]);
  assert.deepEqual(orientationOf([-9.8 * Math.SQRT1_2, 0, 9.8 * Math.SQRT1_2])!.map(Math.round), [0, 0, 45]);
  assert.deepEqual(orientationOf([0, 0, -9.8])!.map(Math.round), [0, 180, 0]);
});

test("a window plays in its slot, again up to its last slot, and is held for as many steps as are allowed", () => {
  const window = (slot: number, through: number) => ({
    slot,
    through,
    slotMs: 100,
    readings: [0, 1, 2, 3].map((row) => ({ ...NOTHING, orientation: [10 * slot + row, 0, 0] as const })),
  });
  const played = (playback: Playback, from: number, to: number) =>
    Array.from({ length: (to - from) / 25 }, (_, at) => playback.at(from + at * 25 + 12)?.reading.orientation?.[0]);
  const playback = new Playback(2);
  assert.deepEqual(played(playback, 100, 200), [undefined, undefined, undefined, undefined]);
  playback.add(window(2, 3));
  assert.deepEqual(played(playback, 175, 325), [undefined, 20, 21, 22, 23, 20], "not before its slot");
  assert.deepEqual(played(playback, 375, 500), [23, 23, 23, undefined, undefined], "held, then nothing");
  assert.equal(playback.end, 400);
  playback.add(window(4, 4));
  assert.deepEqual(played(playback, 375, 450), [23, 40, 41], "the window before it ends in its slot");
  assert.deepEqual([playback.at(310)?.due, playback.at(430)?.due], [300, 425], "when a step began");
  playback.clear();
  assert.equal(playback.at(410), null);
});
