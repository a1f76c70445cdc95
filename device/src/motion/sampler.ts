// Resamples raw readings to the policy's rate and cuts them into windows of public time.
import type { Schema } from "../schema";

/** The window of a slot, in units, flat with the channel fastest. */
export interface Window {
  readonly slot: number;
  readonly samples: Float64Array;
}

/**
 * Slots are counted from a public origin of time. A sample is the mean of the readings in its cell of time, channel by
 * channel; a window uses its own readings only, so no reading informs two draws. A window in which a channel has no
 * reading is dropped, and so is one that was interrupted: by a stop, or by a clock set anew by more than a window.
 */
export class Sampler {
  private readonly periodMs: number;
  private sums: number[] = [];
  private counts: number[] = [];
  private current = 0; // the cell of the last call, counted from the origin
  private next: number | null = null; // the cell being filled
  private rows: number[][] = []; // of the window being filled; NaN where a channel has no reading

  constructor(
    private readonly schema: Schema,
    private readonly originMs: number,
  ) {
    this.periodMs = 1000 / schema.rateHz;
    this.empty();
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

  /** Adds a reading of the time last advanced to: one value per channel, NaN where it has none. */
  read(values: readonly number[]): void {
    if (this.next === null || this.current < this.next) return; // before the first whole window, or late
    values.forEach((value, channel) => {
      if (Number.isNaN(value)) return;
      this.sums[channel]! += value;
      this.counts[channel]! += 1;
    });
  }

  /** Moves on to `now`; returns the windows that are complete. */
  advance(now: number): Window[] {
    this.current = Math.floor((now - this.originMs) / this.periodMs);
    const length = this.schema.window;
    if (this.next === null || Math.abs(this.current - this.next) > length) {
      this.next = Math.ceil(this.current / length) * length;
      this.rows = [];
      this.empty();
    }
    const complete: Window[] = [];
    for (; this.next < this.current; this.next += 1) {
      this.rows.push(this.sums.map((sum, channel) => sum / this.counts[channel]!)); // 0 / 0 is NaN
      this.empty();
      if (this.rows.length < length) continue;
      const samples = this.filled(this.rows);
      if (samples) complete.push({ slot: Math.floor(this.next / length), samples });
      this.rows = [];
    }
    return complete;
  }

  /** A cell without a reading repeats the previous one of its window; before the first reading, the first. */
  private filled(rows: readonly number[][]): Float64Array | null {
    const width = this.schema.channels.length;
    const samples = new Float64Array(rows.length * width);
    for (let channel = 0; channel < width; channel += 1) {
      let nearest = rows.find((row) => !Number.isNaN(row[channel]))?.[channel];
      if (nearest === undefined) return null;
      for (const [at, row] of rows.entries()) {
        if (!Number.isNaN(row[channel])) nearest = row[channel]!;
        samples[at * width + channel] = nearest;
      }
    }
    return samples;
  }

  private empty(): void {
    this.sums = this.schema.channels.map(() => 0);
    this.counts = this.schema.channels.map(() => 0);
  }
}
