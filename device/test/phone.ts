// A phone with a simulated clock, timers that do not notice when the clock is set, random bits, a store, and sensors.
import type { Host } from "../src/host";
import type { Charges } from "../src/ledger";
import type { Raw, Sensors, Timers } from "../src/motion/source";

interface Waiting {
  readonly at: number;
  readonly act: () => void;
}

export class Phone implements Timers, Sensors {
  clock = 1_000_000;
  private elapsed = 0;
  charges: Charges | undefined;
  reading: ((raw: Raw) => void) | null = null;
  started = 0;
  private waiting: Waiting[] = [];
  private state = 1;

  readonly host: Host = {
    now: () => this.clock,
    random: (bytes) => void bytes.forEach((_, at) => (bytes[at] = this.next())),
    store: { load: async () => this.charges, save: async (charges) => void (this.charges = charges) },
  };

  setTimeout(act: () => void, ms: number): unknown {
    const timer = { at: this.elapsed + ms, act };
    this.waiting.push(timer);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.waiting = this.waiting.filter((each) => each !== timer);
  }

  start(_: unknown, __: number, read: (raw: Raw) => void): () => void {
    this.started += 1;
    this.reading = read;
    return () => (this.reading = null);
  }

  /** Runs for this long with a reading every 10 ms; releases finish in time. */
  async run(ms: number, raw: (at: number) => Raw): Promise<void> {
    for (const end = this.elapsed + ms; this.elapsed < end;) {
      this.clock += 10;
      this.elapsed += 10;
      this.reading?.(raw(this.clock));
      const due = this.waiting.filter(({ at }) => at <= this.elapsed);
      this.waiting = this.waiting.filter(({ at }) => at > this.elapsed);
      due.forEach(({ act }) => act());
      for (let turn = 0; turn < 12; turn += 1) await Promise.resolve();
    }
  }

  private next(): number {
    this.state = (this.state * 48271) % 2147483647;
    return this.state % 256;
  }
}
