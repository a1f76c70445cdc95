// Plays released windows by the clock, so that the times of events reveal neither readings nor when a window came.
import type { Reading } from "deeprotect";
import type { Window } from "../../platform/stream";

const READY_MS = 50; // from the start of a slot until its window plays: longer than a release takes

export class Player {
  private windows: Window[] = [];
  private origin = 0; // of slots, on the page's clock
  private timer: ReturnType<typeof setInterval> | undefined;
  private last = "";

  /** `isWanted` says whether the page still listens. */
  constructor(
    private readonly play: (reading: Reading, timestamp: number) => void,
    private readonly isWanted: () => boolean,
  ) {}

  add(window: Window): void {
    this.windows = [...this.windows.filter(({ through }) => through >= window.slot - 1), window];
    if (this.timer !== undefined) return;
    const step = window.slotMs / window.readings.length;
    const wait = startOf(window.slot, window) - Date.now();
    const steps = Math.abs(wait) < window.slotMs ? Math.floor(wait / step) : 0; // at once, where clocks disagree
    this.origin = performance.now() + (steps + 0.5) * step - window.slot * window.slotMs; // ticks in mid-step
    this.timer = setInterval(() => this.tick(), step);
    if (window.through > window.slot) this.tick(); // a phone at rest, at once: a page may wait for half a second only
  }

  private tick(): void {
    const now = performance.now();
    const newest = this.windows.at(-1);
    const at = newest ? (now - this.origin) / newest.slotMs : 0;
    if (!newest || !this.isWanted() || at > newest.through + 2) return this.stop();
    const slot = Math.floor(at);
    const playing = this.windows.findLast((each) => each.slot <= slot && slot <= each.through);
    if (!playing || document.visibilityState !== "visible") return;
    const row = Math.floor((at % 1) * playing.readings.length);
    const place = `${slot} ${row}`;
    if (place === this.last) return; // the timer came early
    this.last = place;
    this.play(playing.readings[row]!, timestamp(playing, { slot, row, now }));
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.windows = [];
  }
}

/** On the public clock. */
function startOf(slot: number, { slotMs }: Window): number {
  return slot * slotMs + READY_MS;
}

/** The time at which a reading was due, which is the same in all frames of a page. */
function timestamp(window: Window, { slot, row, now }: { slot: number; row: number; now: number }): number {
  const time = startOf(slot, window) + (row * window.slotMs) / window.readings.length - performance.timeOrigin;
  return Math.abs(time - now) < window.slotMs ? Math.min(time, now) : now;
}
