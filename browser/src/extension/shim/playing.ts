// Plays released windows by the page's own clock: when a window came, or a raw reading, tells nothing.
import type { Available, Reading } from "deeprotect";
import type { Said } from "../../platform/source";

type Window = Extract<Said, { kind: "window" }>;
const AHEAD = 2.5; // steps between a first window's coming and its playing: the others may come later by so much

/** A phone on a table, with the sensors that there are. */
export function resting({ acceleration, rotationRate, orientation }: Available): Reading {
  return {
    accelerationIncludingGravity: acceleration ? [0, 0, 9.8] : null,
    acceleration: acceleration ? [0, 0, 0] : null,
    gravity: acceleration ? [0, 0, 9.8] : null,
    rotationRate: rotationRate ? [0, 0, 0] : null,
    orientation: orientation ? [0, 0, 0] : null,
  };
}

export class Playing {
  private windows: Window[] = [];
  private origin = 0; // of slots, on the page's clock
  private timer: ReturnType<typeof setInterval> | undefined;
  private last = "";

  /** `heard` says whether anybody still listens. */
  constructor(private readonly play: (reading: Reading, timestamp: number) => void, private readonly heard: () => boolean) {}

  add(window: Window): void {
    const step = window.slotMs / window.readings.length;
    this.windows = [...this.windows.filter(({ slot }) => slot === window.slot - 1), window];
    if (this.timer !== undefined) return;
    this.origin = performance.now() + AHEAD * step - window.slot * window.slotMs;
    this.timer = setInterval(() => this.tick(), step);
  }

  /** Once, where nothing plays yet: many apps take sensors that say nothing at first for missing. */
  rest(reading: Reading): void {
    if (this.timer === undefined) this.play(reading, performance.now());
  }

  private tick(): void {
    const now = performance.now();
    const newest = this.windows.at(-1);
    const at = newest ? (now - this.origin) / newest.slotMs : 0;
    if (!newest || !this.heard() || at > newest.slot + 2) return this.stop();
    const playing = this.windows.find(({ slot }) => slot === Math.floor(at));
    if (!playing || document.visibilityState !== "visible") return;
    const row = Math.floor((at % 1) * playing.readings.length);
    const place = `${playing.slot} ${row}`;
    if (place === this.last) return; // the timer came early
    this.last = place;
    this.play(playing.readings[row]!, now);
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.windows = [];
  }
}
