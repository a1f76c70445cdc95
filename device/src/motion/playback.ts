// Plays released windows by the clock, so that the times of readings reveal neither motion nor when a window came.
import type { Reading } from "./reading";

/** Readings to show in equal steps during one slot, and again in each slot up to `through`. */
export interface Shown {
  readonly slot: number;
  readonly through: number;
  readonly slotMs: number;
  readonly readings: readonly Reading[];
}

/** The reading that is due at a moment; `due` is when its step began. */
export interface Step {
  readonly reading: Reading;
  readonly due: number;
}

/** Counts time as slots are counted: slot 0 begins at 0. */
export class Playback {
  private windows: Shown[] = [];

  /** The last reading is held for `heldSteps` where the next window is late. */
  constructor(private readonly heldSteps: number) {}

  add(window: Shown): void {
    this.windows = [...this.windows.filter(({ through }) => through >= window.slot - 1), window];
  }

  /** When the last window ends; 0 if there is none. */
  get end(): number {
    const last = this.windows[this.windows.length - 1];
    return last ? (last.through + 1) * last.slotMs : 0;
  }

  clear(): void {
    this.windows = [];
  }

  /** Null before the first window, and where the next one is late. */
  at(time: number): Step | null {
    for (let each = this.windows.length - 1; each >= 0; each -= 1) {
      const { slot, through, slotMs, readings } = this.windows[each]!;
      const step = slotMs / readings.length;
      const steps = Math.floor((time - slot * slotMs) / step);
      if (steps < 0) continue; // an earlier window is still shown
      const last = (through - slot + 1) * readings.length - 1;
      if (steps > last + this.heldSteps) return null;
      const shown = Math.min(steps, last);
      return { reading: readings[shown % readings.length]!, due: slot * slotMs + shown * step };
    }
    return null;
  }
}
