// The runtime as one script for engines that an app hosts itself, by texts alone: whatever engine it is, it takes those.
// A draw is made in two steps, so that its charge is on the host's disk before noise is drawn.
import { bytesOf } from "./base64";
import { Bundle } from "./bundle";
import { InputError } from "./errors";
import { type Charges, Ledger } from "./ledger";
import { Pipe } from "./pipe";

interface Answer {
  /** To be stored before `draw` is called. */
  readonly charges?: Charges;
  /** The window to show next, flat with the channel fastest; null where nothing may leave. */
  readonly released?: readonly number[] | null;
}

/** Random bytes that the host has handed over; each is used once. */
class Handed {
  private left: Uint8Array<ArrayBuffer> = new Uint8Array();

  add(base64: string): void {
    this.left = bytesOf(base64);
  }

  readonly take = (bytes: Uint8Array): void => {
    if (this.left.length < bytes.length) throw new InputError("too few random bytes were handed over; hand over more");
    bytes.set(this.left.subarray(0, bytes.length));
    this.left = this.left.subarray(bytes.length);
  };
}

class Stream {
  private readonly random = new Handed();
  private readonly pipe: Pipe;
  private charges: Charges | undefined;
  private saved: (() => void) | null = null;
  private released: Promise<Float64Array | null> = Promise.resolve(null);
  private asked: (() => void) | null = null;

  constructor(bundle: Bundle, charges: Charges | undefined, random: string) {
    this.charges = charges;
    this.random.add(random);
    const store = { load: async () => this.charges, save: (after: Charges) => this.save(after) };
    const { hold, budget, whenSpent } = bundle.policy;
    this.pipe = new Pipe(bundle, new Ledger(store, budget), hold, whenSpent ?? "nothing", this.random.take);
  }

  /** The window of a slot is complete. */
  push(slot: number, window: Float64Array, now: number, random: string): Promise<Answer> {
    this.random.add(random);
    const asked = new Promise<Answer>((resolve) => (this.asked = () => resolve({ charges: this.charges! })));
    this.released = this.pipe.push(slot, window, now);
    return Promise.race([asked, this.answer()]);
  }

  /** The charges are stored. */
  draw(random: string): Promise<Answer> {
    if (!this.saved) throw new InputError("no draw is waiting for its charge");
    this.random.add(random);
    this.saved();
    this.saved = null;
    return this.answer();
  }

  private async answer(): Promise<Answer> {
    const released = await this.released;
    return { released: released && Array.from(released) };
  }

  private save(after: Charges): Promise<void> {
    this.charges = after;
    return new Promise((resolve) => {
      this.saved = resolve;
      this.asked!();
    });
  }
}

let stream: Stream;

/** All arguments and results are texts: JSON, base64 for bytes, decimal digits for numbers. */
const deeprotect = {
  /** protector.json, its digest, the charges that were last stored ("" at first) and 64 random bytes. */
  open(protector: string, digest: string, charges: string, random: string): string {
    const bundle = Bundle.pinned(protector, digest);
    stream = new Stream(bundle, charges ? (JSON.parse(charges) as Charges) : undefined, random);
    const { rateHz, window, channels } = bundle.policy.schema;
    return JSON.stringify({ rateHz, window, channels: channels.map(({ name, unit }) => ({ name, unit })) });
  },

  /** A whole window in the policy's units; gives charges to be stored, or what leaves where nothing is to be paid. */
  async push(slot: string, window: string, now: string, random: string): Promise<string> {
    const samples = Float64Array.from(JSON.parse(window) as number[]);
    return JSON.stringify(await stream.push(Number(slot), samples, Number(now), random));
  },

  async draw(random: string): Promise<string> {
    return JSON.stringify(await stream.draw(random));
  },
};

(globalThis as { deeprotect?: unknown }).deeprotect = deeprotect;
