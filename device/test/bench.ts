// What the runtime costs in an engine: a stream at the bundle's rate through a session on a clock of its own.
// Wants PROTECTOR (the text of protector.json) and SECONDS; prints JSON.
import { Bundle, type Exported } from "../src/bundle";
import { type Charges, Ledger } from "../src/ledger";
import { Channels } from "../src/motion/channels";
import { Session } from "../src/motion/session";
import { Pipe } from "../src/pipe";
import type { Reading, Vector } from "../src/motion/reading";

interface Engine {
  PROTECTOR: string;
  SECONDS: number;
  print(text: string): void;
  /** Of QuickJS's host. */
  milliseconds?(): number;
  heapBytes?(): number;
  performance?: { now(): number };
  preciseTime?(): number;
  gc?(): void;
  fullGC?(): void;
  gcHeapSize?(): number;
  HermesInternal?: { getInstrumentedStats(): { [name: string]: number } };
  process?: { memoryUsage(): { heapUsed: number; arrayBuffers: number } };
}

const engine = globalThis as unknown as Engine;
const RATE_HZ = 50;
const ROUNDS = 5;

function now(): number {
  if (engine.milliseconds) return engine.milliseconds();
  if (engine.preciseTime) return 1000 * engine.preciseTime();
  return engine.performance ? engine.performance.now() : Date.now();
}

/** Of the engine, after it was cleaned up; typed arrays included. */
function heap(): number | null {
  (engine.fullGC ?? engine.gc)?.();
  if (engine.heapBytes) return engine.heapBytes();
  if (engine.gcHeapSize) return engine.gcHeapSize();
  if (engine.process) return engine.process.memoryUsage().heapUsed + engine.process.memoryUsage().arrayBuffers;
  const stats = engine.HermesInternal?.getInstrumentedStats();
  return stats ? stats["js_allocatedBytes"]! + (stats["js_mallocSizeEstimate"] ?? 0) : null;
}

/** No more than the cost of asking: what it gives is not released to anybody. */
function random(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.floor(256 * Math.random());
}

function reading(at: number): Pick<Reading, "acceleration" | "accelerationIncludingGravity" | "rotationRate"> {
  const some = (phase: number): Vector => [Math.sin(at / 8 + phase), Math.cos(at / 5 + phase), 9.8 * Math.sin(at / 90)];
  return { acceleration: some(1), accelerationIncludingGravity: some(2), rotationRate: some(3) };
}

function memory(): Ledger {
  let kept: Charges | undefined;
  return new Ledger({ load: async () => kept, save: async (charges) => void (kept = charges) });
}

async function streamed(session: Session | null): Promise<number> {
  const [before, samples] = [now(), engine.SECONDS * RATE_HZ];
  let heard = 0;
  session?.start(0);
  for (let at = 0; at < samples; at += 1) {
    const raw = reading(at);
    if (session) {
      session.read(raw);
      heard += session.tick((1000 * at) / RATE_HZ) ? 1 : 0;
      for (let turn = 0; turn < 8; turn += 1) await null; // whatever is released is released now
    } else heard += raw.rotationRate ? 1 : 0;
  }
  if (heard < samples / 4) throw new Error(`only ${heard} of ${samples} readings came through`);
  return now() - before;
}

async function released(bundle: Bundle): Promise<number> {
  const pipe = new Pipe(bundle, memory(), { windows: 1, listen: 1 }, "nothing", random);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const windows = 20;
    const given = Array.from({ length: windows }, () => Float64Array.from({ length: bundle.policy.schema.dim }, Math.random));
    const before = now();
    for (let at = 0; at < windows; at += 1) await pipe.push(round * windows + at, given[at]!, 0);
    times.push((now() - before) / windows);
  }
  return Math.min(...times);
}

async function main(): Promise<void> {
  const before = now();
  const text = engine.PROTECTOR;
  const bundle = new Bundle(JSON.parse(text) as Exported);
  const start = now() - before;
  const session = (made: Bundle) =>
    new Session(made, new Channels(made.places), memory(), { hold: made.policy.hold, uncovered: "rest", whenSpent: "placeholder", random });
  const empty = heap();
  const kept = [session(new Bundle(JSON.parse(text) as Exported))];
  await streamed(kept[0]!);
  const full = heap();
  const [off, on] = [await streamed(null), await streamed(session(bundle))];
  engine.print(
    JSON.stringify({
      start,
      window: await released(bundle),
      off: off / 10 / engine.SECONDS,
      on: on / 10 / engine.SECONDS,
      heap: full === null || empty === null ? null : (full - empty) / 2 ** 20,
      kept: kept.length,
    }),
  );
}

void main().catch((error) => engine.print(`failed: ${String(error)}`));
