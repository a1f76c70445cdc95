// Measures the runtime in an engine: a stream of motion at 50 Hz on a simulated clock. Reads PROTECTOR (the text of
// protector.json, or "" for none), SECONDS of the stream and the number of WINDOWS to release one by one; prints JSON.
import { Bundle, type Exported } from "../src/bundle";
import { type Charges, Ledger } from "../src/ledger";
import type { Reading, Vector } from "../src/motion/reading";
import { Slots } from "../src/motion/slots";
import { Pipe } from "../src/pipe";

interface Engine {
  PROTECTOR: string;
  SECONDS: number;
  WINDOWS: number;
  print(text: string): void;
  /** Provided by QuickJS's host. */
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

/** The engine's heap after a garbage collection, typed arrays included. */
function heap(): number | null {
  (engine.fullGC ?? engine.gc)?.();
  if (engine.heapBytes) return engine.heapBytes();
  if (engine.gcHeapSize) return engine.gcHeapSize();
  if (engine.process) return engine.process.memoryUsage().heapUsed + engine.process.memoryUsage().arrayBuffers;
  const stats = engine.HermesInternal?.getInstrumentedStats();
  return stats ? stats.js_allocatedBytes! + (stats.js_mallocSizeEstimate ?? 0) : null;
}

/** Cheap and insecure: the bench releases nothing to anyone. */
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

/** Counts released readings. */
async function streamed(slots: Slots | null): Promise<number> {
  let [shown, last] = [0, 0];
  slots?.start(0);
  for (let at = 0; at < engine.SECONDS * RATE_HZ; at += 1) {
    const [raw, clock] = [reading(at), (1000 * at) / RATE_HZ];
    if (slots) {
      slots.read(raw, clock);
      const slot = slots.at(clock);
      if (slot > last) shown += (await slots.release(last, clock))?.length ?? 0;
      last = slot;
    } else shown += raw.rotationRate ? 1 : 0;
  }
  return shown;
}

/** Milliseconds per window, the minimum of a few rounds. */
async function released(bundle: Bundle): Promise<number | null> {
  const pipe = new Pipe(bundle, memory(), { windows: 1, listen: 1 }, "nothing", random);
  const times: number[] = [];
  for (let round = 0; engine.WINDOWS && round < ROUNDS; round += 1) {
    const given = Array.from({ length: engine.WINDOWS }, () =>
      Float64Array.from({ length: bundle.policy.schema.dim }, Math.random),
    );
    const before = now();
    for (let at = 0; at < given.length; at += 1) await pipe.push(round * given.length + at, given[at]!, 0);
    times.push((now() - before) / given.length);
  }
  return times.length ? Math.min(...times) : null;
}

async function main(): Promise<void> {
  const empty = heap();
  if (!engine.PROTECTOR) return engine.print(JSON.stringify({ shown: await streamed(null) }));
  const before = now();
  const bundle = new Bundle(JSON.parse(engine.PROTECTOR) as Exported);
  const start = now() - before;
  const { hold } = bundle.policy;
  const slots = new Slots(bundle, memory(), { hold, uncovered: "rest", whenSpent: "placeholder", random });
  const shown = await streamed(slots);
  const window = await released(bundle);
  const full = heap();
  const added = full === null || empty === null ? null : (full - empty) / 2 ** 20;
  engine.print(JSON.stringify({ shown, start, window, heap: added, rateHz: slots.rateHz }));
}

void main().catch((error) => engine.print(`failed: ${String(error)}`));
