// Decides which windows of a live stream inform which draw; each window informs at most one. The same state machine
// as Python's `release/episodes.py`, compared step by step in test/vectors.json.

/** How many windows share one draw, and how many of them the draw looks at. */
export interface Hold {
  readonly windows: number;
  readonly listen: number;
}

/** Which windows a draw looks at: the whole episode, its beginning, or the end of the previous one. */
export interface Observing {
  readonly observe: "whole" | "beginning" | "before";
  readonly windows: number;
}

const LISTEN = 3; // windows per draw at most: as good as ten on the wrist data

/** At the beginning of an episode a draw looks at what was before: no window waits. */
export function observingOf(hold: Hold): Observing {
  return { observe: hold.windows === 1 ? "beginning" : "before", windows: Math.min(LISTEN, hold.listen) };
}

/** Places before it may inform the episode's own draw, those from it on the next one's: one at least each. */
export function borderOf(hold: Hold, { observe, windows }: Observing): number {
  return observe === "before" ? Math.max(1, hold.windows - windows) : hold.windows;
}

/** The middles of `listen` equal parts of an episode; all places if there are no more than `listen`. */
export function observedPlaces({ windows, listen }: Hold): Set<number> {
  const parts = Math.min(windows, listen);
  return new Set(Array.from({ length: parts }, (_, part) => Math.floor(((2 * part + 1) * windows) / (2 * parts))));
}

/** Windows that share one draw. */
export class Episode<Window, Drawn> {
  state: "observing" | "due" | "drawn" | "given up";
  waiting: number[] = []; // by window number
  drawn: Drawn | null = null;

  constructor(
    readonly part: number,
    readonly number: number,
    public observed: Window[],
  ) {
    this.state = observed.length ? "due" : "observing";
  }

  /** Takes one more window if the draw still looks; a missing one gives the episode up. */
  look(window: Window | null, enough: number): void {
    if (this.state !== "observing") return;
    if (window === null) {
      this.giveUp();
      return;
    }
    this.observed.push(window);
    if (this.observed.length === enough) this.state = "due";
  }

  /** Ends the input: the draw uses the windows seen so far. */
  end(): void {
    if (this.state === "observing") this.state = this.observed.length ? "due" : "given up";
  }

  show(drawn: Drawn): void {
    [this.state, this.drawn, this.observed] = ["drawn", drawn, []];
  }

  giveUp(): void {
    [this.state, this.observed] = ["given up", []];
  }
}

/**
 * Takes the windows of one stream in order of their number; a gap, or another `part`, starts anew. If no windows
 * precede an episode, its draw uses its own first windows; its last ones are for the next episode.
 */
export class Episodes<Window, Drawn> {
  private open: Episode<Window, Drawn>[] = [];
  private before: Window[] = []; // the last windows, for the next episode
  private last: readonly [part: number, number: number] | null = null;
  private readonly border: number;

  constructor(
    private readonly hold: Hold,
    private readonly observing: Observing,
  ) {
    this.border = borderOf(hold, observing);
  }

  /** Takes the next window; null where samples are missing. */
  take(number: number, window: Window | null, part = 0): void {
    const {
      hold: { windows },
      border,
    } = this;
    const follows = this.last === null || (this.last[0] === part && this.last[1] === number - 1);
    this.last = [part, number];
    const place = number % windows;
    const episode = this.episode(part, Math.floor(number / windows), follows);
    episode.waiting.push(number);
    if (place < border) {
      episode.look(follows || !episode.observed.length ? window : null, Math.min(this.observing.windows, border));
    }
    if (place >= border - 1) episode.end();
    if (!follows || window === null) this.before = [];
    if (place >= border && window !== null) this.before.push(window);
  }

  /** Ends the stream. */
  end(): void {
    this.current?.end();
  }

  /** Draws to make now or to try again, each with the windows that it looks at. */
  due(): { episode: Episode<Window, Drawn>; observed: Window[] }[] {
    return this.open
      .filter(({ state }) => state === "due")
      .map((episode) => ({ episode, observed: this.looks(episode) }));
  }

  /** Windows that leave, by number, each with its draw; `fill` makes one for an episode that was given up. */
  leaving(fill: (() => Drawn) | null = null): { number: number; drawn: Drawn }[] {
    const left: { number: number; drawn: Drawn }[] = [];
    for (let episode = this.open[0]; episode; episode = this.open[0]) {
      if (episode.state === "given up" && fill && episode.waiting.length) episode.show(fill());
      if (episode.state === "observing" || episode.state === "due") break;
      const { drawn } = episode;
      if (drawn !== null) left.push(...episode.waiting.map((number) => ({ number, drawn })));
      episode.waiting = [];
      if (this.open.length === 1) break;
      this.open.shift();
    }
    return left;
  }

  /** Gives up draws that could not be made before their episode ended. */
  expire(): void {
    for (const episode of this.open.slice(0, -1)) if (episode.state === "due") episode.giveUp();
  }

  private get current(): Episode<Window, Drawn> | undefined {
    return this.open[this.open.length - 1];
  }

  private looks({ observed }: Episode<Window, Drawn>): Window[] {
    if (this.observing.observe !== "whole") return observed;
    const observedAt = observedPlaces({ windows: observed.length, listen: this.hold.listen });
    return observed.filter((_, place) => observedAt.has(place));
  }

  private episode(part: number, number: number, follows: boolean): Episode<Window, Drawn> {
    const { current } = this;
    if (current?.part === part && current.number === number) return current;
    if (current?.state === "observing") current.giveUp(); // its last windows are missing
    const observed = follows ? this.before : [];
    this.before = [];
    const next = new Episode<Window, Drawn>(part, number, observed);
    this.open.push(next);
    return next;
  }
}
