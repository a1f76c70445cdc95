// The runtime as one script for an engine that an app embeds; it exchanges strings only, which every engine can.
// A draw is made in two steps, so that its charge is on the host's disk before noise is drawn.
import { bytesOf } from "./base64";
import { Bundle } from "./bundle";
import { InputError } from "./errors";
import { type Charges, Ledger } from "./ledger";
import { type Kind, Pipe, type Released } from "./pipe";

interface Answer {
  /** To be stored before `draw` is called. */
  readonly charges?: Charges;
  /** The window to show next, flat with the channel fastest; null where nothing may leave. */
  readonly released?: readonly number[] | null;
  /** What `released` is. */
  readonly state?: Kind;
}

/** Random bytes from the host; each is used once. */
class RandomBytes {
  private left: Uint8Array<ArrayBuffer> = new Uint8Array();

  add(base64: string): void {
    this.left = bytesOf(base64);
  }

  readonly take = (bytes: Uint8Array): void => {
    if (this.left.length < bytes.length) throw new InputError("there are too few random bytes; pass more");
    bytes.set(this.left.subarray(0, bytes.length));
    this.left = this.left.subarray(bytes.length);
  };
}

class Stream {
  private readonly random = new RandomBytes();
  private readonly pipe: Pipe;
  private charges: Charges | undefined;
  private waiting: { stored(): void; failed(error: Error): void } | null = null;
  private released: Promise<Released> | null = null;
  private ask: () => void = () => {};

  constructor(bundle: Bundle, charges: Charges | undefined, random: string) {
    this.charges = charges;
    this.random.add(random);
    const store = { load: async () => this.charges, save: (after: Charges) => this.save(after) };
    const { hold, budget, whenSpent } = bundle.policy;
    this.pipe = new Pipe(bundle, new Ledger(store, budget), hold, whenSpent ?? "nothing", this.random.take);
  }

  /** The window of a slot is complete, or null where readings are missing. */
  push(slot: number, window: Float64Array | null, now: number, random: string): Promise<Answer> {
    this.waiting?.failed(new InputError("the host did not confirm that the charges are stored"));
    this.waiting = null;
    this.random.add(random);
    const asked = new Promise<Answer>((resolve) => (this.ask = () => resolve({ charges: this.charges! })));
    this.released = this.pipe.push(slot, window, now);
    return Promise.race([asked, this.answer(this.released)]);
  }

  /** The charges are stored. */
  draw(random: string): Promise<Answer> {
    if (!this.waiting || !this.released) throw new InputError("no draw is waiting for its charge");
    this.random.add(random);
    this.waiting.stored();
    this.waiting = null;
    return this.answer(this.released);
  }

  private async answer(released: Promise<Released>): Promise<Answer> {
    const { window, kind } = await released;
    return { released: window && Array.from(window), state: kind };
  }

  private save(after: Charges): Promise<void> {
    this.charges = after;
    return new Promise((stored, failed) => {
      this.waiting = { stored, failed };
      this.ask();
    });
  }
}

let stream: Stream;

/** All arguments and results are strings: JSON, base64 for bytes, decimal digits for numbers. */
const deeprotect = {
  /** Takes protector.json, its digest, the charges stored last ("" at first) and 64 random bytes. */
  open(protector: string, digest: string, charges: string, random: string): string {
    const bundle = Bundle.pinned(protector, digest);
    stream = new Stream(bundle, charges ? (JSON.parse(charges) as Charges) : undefined, random);
    const { rateHz, window, channels } = bundle.policy.schema;
    return JSON.stringify({ rateHz, window, channels: channels.map(({ name, unit }) => ({ name, unit })) });
  },

  /** Takes a window in the policy's units, or null; gives charges to store, or what leaves where nothing is charged. */
  async push(slot: string, window: string, now: string, random: string): Promise<string> {
    const values = JSON.parse(window) as (number | null)[] | null;
    const samples = values && Float64Array.from(values, (value) => value ?? NaN); // JSON writes NaN as null
    return JSON.stringify(await stream.push(Number(slot), samples, Number(now), random));
  },

  async draw(random: string): Promise<string> {
    return JSON.stringify(await stream.draw(random));
  },
};

(globalThis as { deeprotect?: unknown }).deeprotect = deeprotect;
