// Plays released windows on the page's clock while the page listens and is visible.
import { Playback, type Reading, type Shown } from "deeprotect";

const READY_MS = 50; // from the start of a slot until its window plays: longer than a release takes

export class Player {
  private readonly playback = new Playback(0);
  private origin = 0; // of slots, on the page's clock
  private timer: ReturnType<typeof setInterval> | undefined;
  private last = -Infinity;

  /** `isWanted` says whether the page still listens. */
  constructor(
    private readonly play: (reading: Reading, timestamp: number) => void,
    private readonly isWanted: () => boolean,
  ) {}

  add(window: Shown): void {
    this.playback.add(window);
    if (this.timer !== undefined) return;
    const { slot, through, slotMs, readings } = window;
    const step = slotMs / readings.length;
    const wait = slot * slotMs + READY_MS - Date.now();
    const steps = Math.abs(wait) < slotMs ? Math.floor(wait / step) : 0; // at once, where clocks disagree
    this.origin = performance.now() + (steps + 0.5) * step - slot * slotMs; // ticks in mid-step
    this.timer = setInterval(() => this.tick(slotMs), step);
    if (through > slot) this.tick(slotMs); // a phone at rest, at once: a page may wait for half a second only
  }

  private tick(slotMs: number): void {
    const now = performance.now();
    const time = now - this.origin;
    if (!this.isWanted() || time > this.playback.end + slotMs) return this.stop();
    const step = this.playback.at(time);
    if (!step || document.visibilityState !== "visible" || step.due === this.last) return; // or the timer came early
    this.last = step.due;
    // When the reading was due on the public clock, which is the same in all frames of a page.
    const due = step.due + READY_MS - performance.timeOrigin;
    this.play(step.reading, Math.abs(due - now) < slotMs ? Math.min(due, now) : now);
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.playback.clear();
  }
}
