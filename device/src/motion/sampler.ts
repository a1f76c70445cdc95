// Raw readings as they come to samples at the policy's rate, and those to windows of time.
import type { Schema } from "../schema";

/** The window of a slot, in units, flat with the channel fastest. */
export interface Window {
  readonly slot: number;
  readonly samples: Float64Array;
}

/**
 * Slots are counted from a public origin of time. A window is made of its own readings only, so that none informs two
 * draws; where a stop is longer than a window, or a window has no reading, it is dropped.
 */
export class Sampler {
  private readonly periodMs: number;
  private sums: number[] | null = null;
  private count = 0;
  private next: number | null = null; // the sample that is being filled, counted from the origin
  private rows: (number[] | null)[] = []; // of the window that is being filled; null: no reading in that cell

  constructor(private readonly schema: Schema, private readonly originMs: number) {
    this.periodMs = 1000 / schema.rateHz;
  }

  get slotMs(): number {
    return this.periodMs * this.schema.window;
  }

  slotAt(now: number): number {
    return Math.floor((now - this.originMs) / this.slotMs);
  }

  startOf(slot: number): number {
    return this.originMs + slot * this.slotMs;
  }

  /** A raw reading, one value for each channel. */
  read(values: number[]): void {
    this.sums = this.sums ? this.sums.map((sum, at) => sum + values[at]!) : [...values];
    this.count += 1;
  }

  /** Time has come to `now`; the windows that are complete. A sample is the mean of its cell of time. */
  advance(now: number): Window[] {
    const current = Math.floor((now - this.originMs) / this.periodMs);
    const length = this.schema.window;
    // The first whole window begins at the next slot, and so does one after a long stop.
    if (this.next === null || current - this.next > length) this.restart(Math.ceil(current / length) * length);
    const complete: Window[] = [];
    for (; this.next! < current; this.next! += 1) {
      this.rows.push(this.sums && this.sums.map((sum) => sum / this.count));
      this.sums = null;
      this.count = 0;
      if (this.rows.length === length) complete.push(...this.take());
    }
    return complete;
  }

  /** A cell without a reading repeats the one before it in the same window, and at the beginning the first. */
  private take(): Window[] {
    const rows = this.rows;
    this.rows = [];
    let nearest = rows.find((row) => row !== null);
    if (!nearest) return [];
    const samples = rows.flatMap((row) => (nearest = row ?? nearest!));
    return [{ slot: Math.floor(this.next! / this.schema.window), samples: Float64Array.from(samples) }];
  }

  private restart(sample: number): void {
    this.next = sample;
    this.rows = [];
    this.sums = null;
    this.count = 0;
  }
}
