// Released windows as a stream in time, at whatever rate it is asked for.
import type { Schema } from "../schema";

interface Playing {
  readonly start: number;
  readonly window: Float64Array;
}

/** Plays each window for as long as it is; between samples it goes in straight lines. */
export class Player {
  private queue: Playing[] = [];

  constructor(private readonly schema: Schema) {}

  add(start: number, window: Float64Array): void {
    this.queue = [...this.queue.filter((each) => each.start < start).slice(-1), { start, window }];
  }

  /** One value for each channel at a time; null before the first window and after the last. */
  at(now: number): number[] | null {
    const started = this.queue.filter((each) => each.start <= now);
    const playing = started[started.length - 1];
    if (!playing) return null;
    const position = ((now - playing.start) * this.schema.rateHz) / 1000;
    const last = this.schema.window - 1;
    if (position > last + 2) return null; // the next window is more than a moment late
    const [before, share] = [Math.min(Math.floor(position), last), position % 1];
    const after = Math.min(before + 1, last);
    const value = (row: number, channel: number) => playing.window[row * this.schema.channels.length + channel]!;
    return this.schema.channels.map((_, channel) => {
      const start = value(before, channel);
      return start + share * (value(after, channel) - start);
    });
  }
}
