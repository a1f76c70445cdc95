// Checks that the runtime computes, draws, waits and charges as Python does, from shared vectors. Runs in every engine,
// so it uses only the language.
import { bytesOf } from "../src/base64";
import { Bundle } from "../src/bundle";
import type { Entropy } from "../src/entropy";
import { Episodes } from "../src/episodes";
import { BundleError, InputError } from "../src/errors";
import { codeOf, pooled } from "../src/evidence";
import { Fraction } from "../src/fraction";
import { type Charges, Ledger, NO_CHARGES, spending } from "../src/ledger";
import { Motion } from "../src/motion/motion";
import { Network } from "../src/network";
import { Pipe } from "../src/pipe";
import { DiscreteLaplace, below } from "../src/sampling";
import { sha256 } from "../src/sha256";
import { TensorReader } from "../src/tensors";
import { Phone } from "./phone";
import { load, vectors } from "./vectors";

const MINUTE = 60_000;

/** Entropy that gives recorded words. */
class Script implements Entropy {
  private at = 0;

  constructor(private readonly given: readonly string[]) {}

  words(count: number): bigint[] {
    const words = this.given.slice(this.at, (this.at += count));
    same(words.length, count, "more words were asked for than Python drew");
    return words.map(BigInt);
  }

  checkUsed(): void {
    same(this.at, this.given.length, "fewer words were asked for than Python drew");
  }
}

function same(found: unknown, wanted: unknown, what = ""): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`${what} ${left} is not ${right}`);
}

function equal(found: ArrayLike<number>, wanted: readonly number[]): void {
  same(found.length, wanted.length);
  wanted.forEach((value, at) => {
    if (found[at] !== value) throw new Error(`${found[at]} is not ${value}`); // -0 is 0
  });
}

function refused(kind: new (message: string) => Error, act: () => unknown): void {
  try {
    act();
  } catch (error) {
    if (error instanceof kind) return;
    throw error;
  }
  throw new Error("it was accepted");
}

type Check = readonly [name: string, run: () => void | Promise<void>];

const layers = vectors.layers.map((each): Check => [
  `layer ${each.name} is numpy's`,
  () => {
    const network = new Network(each.layers, new TensorReader(bytesOf(each.tensors)), 6);
    each.rows.forEach((row, at) => equal(network.run(Float64Array.from(row)), each.results[at]!));
  },
]);

const integers = vectors.below.map((each): Check => [
  `uniform integers below ${each.bound} are Python's`,
  () => {
    const entropy = new Script(each.words);
    equal(below(BigInt(each.bound), each.drawn.length, entropy).map(Number), each.drawn);
    entropy.checkUsed();
  },
]);

const noise = vectors.laplace.map((each): Check => [
  `discrete Laplace noise of scale ${each.scale} is Python's`,
  () => {
    const entropy = new Script(each.words);
    same(new DiscreteLaplace([Fraction.read(each.scale)]).draw(each.drawn.length, entropy).map(String), each.drawn);
    entropy.checkUsed();
  },
]);

const bundles = vectors.bundles.map((each): Check => [
  `bundle ${each.kind}: codes are Python's, the same words give the same release`,
  () => {
    const bundle = Bundle.pinned(each.protector, each.digest);
    const windows = each.windows.map((window) => Float64Array.from(window));
    same(bundle.policy.hold.windows, each.held);
    each.codes.forEach((code, at) => equal(codeOf(bundle, windows.slice(at * each.held, (at + 1) * each.held)), code));
    const entropy = new Script(each.words);
    const noisy = bundle.mechanism.privatise(Float64Array.from(([] as number[]).concat(...each.codes)), entropy);
    equal(noisy, ([] as number[]).concat(...each.noisy));
    entropy.checkUsed();
    each.noisy.forEach((code, at) => equal(bundle.decode(Float64Array.from(code)), each.released[at]!));
  },
]);

const episodes: Check = [
  "episodes look at, draw and release the same windows as Python's, at the same times",
  () => {
    for (const { hold, listen, observe, windows, fill, steps } of vectors.episodes) {
      const episodes = new Episodes<number, number>({ windows: hold, listen }, { observe, windows });
      let draws = 0;
      steps.forEach(({ part, number, whole, available, observed, left }, index) => {
        episodes.take(number, whole ? index : null, part);
        if (index === steps.length - 1) episodes.end();
        const due = episodes.due();
        same(
          due.map((each) => each.observed),
          observed,
        );
        if (available) for (const { episode } of due) episode.show((draws += 1));
        same(
          episodes.leaving(fill ? () => 0 : null).map(({ number, drawn }) => [number, drawn]),
          left,
        );
        episodes.expire();
      });
    }
  },
];

const ledgers: Check = [
  "draws are charged and refused step by step as in Python",
  async () => {
    for (const { epsilon, limits, steps } of vectors.ledgers) {
      let kept: Charges | undefined;
      const store = { load: async () => kept, save: async (charges: Charges) => void (kept = charges) };
      const budget = { perHour: limits.per_hour ?? null, perDay: limits.per_day ?? null, inAll: limits.in_all ?? null };
      const ledger = new Ledger(store, budget);
      for (const { minute, paid, spent } of steps) {
        const asked = await ledger.charge(epsilon, minute * MINUTE).then(
          () => true,
          () => false,
        );
        const { hour, day, inAll } = spending(kept ?? NO_CHARGES, minute * MINUTE);
        same([asked, hour, day, inAll], [paid, ...spent]);
      }
    }
  },
];

const hosts: Check[] = [
  [
    "a host without secure random bits is refused",
    () => {
      const ledger = new Ledger({ load: async () => undefined, save: async () => {} });
      const bundle = load("channel ldp");
      for (const random of [() => {}, (bytes: Uint8Array) => void bytes.fill(7), null as never]) {
        refused(InputError, () => new Pipe(bundle, ledger, bundle.policy.hold, "nothing", random));
      }
      const { crypto } = globalThis as { crypto?: unknown };
      if (!crypto) refused(InputError, () => new Pipe(bundle, ledger, bundle.policy.hold, "nothing"));
    },
  ],
  [
    "a bundle with another digest than the pinned one is refused",
    () => {
      const [{ protector }, other] = [vectors.bundles[0]!, vectors.bundles[1]!];
      refused(BundleError, () => Bundle.pinned(protector, other.digest));
    },
  ],
  ["SHA-256 is that of FIPS 180-4", () => same(sha256(Uint8Array.of(97, 98, 99)), ABC)],
];
const phones: Check[] = [
  [
    "a phone shows public windows only, one draw per slot, each charged before it is shown",
    async () => {
      const [phone, bundle, seen] = [new Phone(), load("channel ldp"), new Set<string>()];
      const shown: { [place: string]: true } = {};
      for (let index = 0; index < bundle.mechanism.publicOutputs!; index += 1) {
        const window = bundle.decode(Float64Array.of(index));
        for (let at = 0; at < window.length; at += 3) shown[Array.from(window.subarray(at, at + 3)).join()] = true;
      }
      const stop = new Motion(bundle, phone.host, phone, {}, phone).listen((reading) => {
        seen.add(reading.accelerationIncludingGravity!.join());
      }, 50);
      await phone.run(4000, (at) => ({ accelerationIncludingGravity: [Math.sin(at / 50), 99, -99] }));
      stop();
      if (seen.size < 4) throw new Error(`only ${seen.size} readings`);
      seen.forEach((each) => same(shown[each], true, `${each} is no public sample:`));
      const { draws } = spending(phone.charges!, phone.clock);
      if (draws < 17 || draws > 20) throw new Error(`${draws} draws for 20 slots`);
      same(phone.reading, null, "sensors still run:");
    },
  ],
  [
    "stopping and starting makes no further draw, and two listeners share one",
    async () => {
      const [phone, bundle] = [new Phone(), load("channel held")];
      const motion = new Motion(bundle, phone.host, phone, {}, phone);
      const still = (at: number) => ({ accelerationIncludingGravity: [Math.sin(at), 1, 2] as const });
      for (let turn = 0; turn < 20; turn += 1) {
        const stops = [motion.listen(() => {}, 20), motion.listen(() => {}, 30)];
        await phone.run(300, still);
        stops.forEach((stop) => stop());
      }
      const { hold, schema } = bundle.policy;
      const episodes = Math.ceil((6 * schema.rateHz) / (schema.window * hold.windows)) + 1;
      const draws = phone.charges ? spending(phone.charges, phone.clock).draws : 0;
      if (draws > episodes) throw new Error(`${draws} draws for ${episodes} episodes`);
    },
  ],
  [
    "when the store fails nothing is shown",
    async () => {
      const phone = new Phone();
      const store = { load: async () => undefined, save: async () => Promise.reject(new Error("disk full")) };
      let heard = 0;
      const motion = new Motion(load("channel ldp"), { ...phone.host, store }, phone, {}, phone);
      const stop = motion.listen(() => (heard += 1), 20);
      await phone.run(2000, () => ({ accelerationIncludingGravity: [0, 1, 2] }));
      stop();
      same(heard, 0);
    },
  ],
];
const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/** A random network and rows from Python; bytes in base64, because JSON has no NaN. */
export interface Case {
  readonly layers: ConstructorParameters<typeof Network>[0];
  readonly tensors: string;
  readonly inputs: number;
  readonly rows: readonly string[];
  readonly episodes: readonly number[];
}

/** Results as the bits of each number in hexadecimal digits: rows, then codes of episodes. */
export function answer(given: Case): string[][] {
  const network = new Network(given.layers, new TensorReader(bytesOf(given.tensors)), given.inputs);
  const rows = given.rows.map((row) => new Float64Array(bytesOf(row).buffer));
  let end = 0;
  const episodes = given.episodes.map((count) => rows.slice(end, (end += count)));
  return [rows.map((row) => digits(network.run(row))), episodes.map((some) => digits(pooled(network, some)))];
}

function digits(row: Float64Array): string {
  const bytes = new Uint8Array(row.buffer, row.byteOffset, row.byteLength);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const CHECKS: readonly Check[] = [
  ...layers,
  ...integers,
  ...noise,
  ...bundles,
  episodes,
  ledgers,
  ...hosts,
  ...phones,
];
