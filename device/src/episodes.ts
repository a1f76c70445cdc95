// Episodes of a live stream: which windows inform which draw; each window informs one at most. As Python's
// `release/episodes.py`, step by step: test/vectors.json.

/** So many windows leave under one draw; so many of an episode's are looked at. */
export interface Hold {
  readonly windows: number;
  readonly listen: number;
}

/** Which windows a draw looks at: of its whole episode, of its beginning, or of what was before it. */
export interface Observing {
  readonly observe: "whole" | "beginning" | "before";
  readonly windows: number;
}

const LISTEN = 3; // windows of an episode, at most: as good as ten on the wrist data

/** A promise from counts of episodes holds for codes of whole ones; any other is kept by arithmetic. */
export function observingOf(hold: Hold, counted: boolean): Observing {
  if (counted) return { observe: "whole", windows: hold.windows };
  return { observe: hold.windows === 1 ? "beginning" : "before", windows: Math.min(LISTEN, hold.listen) };
}

/** How many of its own windows an episode looks at where there is nothing before it; one at least is left for the next. */
export function ownOf(hold: Hold, { observe, windows }: Observing): number {
  return observe === "before" ? Math.min(windows, hold.windows - 1) : windows;
}

/** The middles of `listen` equal parts of an episode, or every place where there are no more than that. */
export function heardPlaces({ windows, listen }: Hold): Set<number> {
  const parts = Math.min(windows, listen);
  return new Set(Array.from({ length: parts }, (_, part) => Math.floor(((2 * part + 1) * windows) / (2 * parts))));
}

/** Windows that share one draw. */
export class Episode<Window, Drawn> {
  state: "observing" | "due" | "drawn" | "given up";
  waiting: number[] = []; // numbers of windows
  drawn: Drawn | null = null;

  constructor(readonly part: number, readonly number: number, public observed: Window[]) {
    this.state = observed.length ? "due" : "observing";
  }

  /** Whether it looked at the window; one that is missing leaves less to draw from than was promised. */
  look(window: Window | null, enough: number): boolean {
    if (this.state !== "observing") return false;
    if (window === null) {
      this.giveUp();
      return false;
    }
    this.observed.push(window);
    if (this.observed.length === enough) this.state = "due";
    return true;
  }

  /** Nothing more comes: what there is of it is drawn from. */
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
 * Windows of one stream in order of their number; a gap, or a clock set back, begins anew. Where there is nothing before
 * an episode to look at, it is drawn from its own first windows.
 */
export class Episodes<Window, Drawn> {
  private open: Episode<Window, Drawn>[] = [];
  private before: Window[] = []; // the last windows, for the next episode
  private last: readonly [part: number, number: number] | null = null;
  private readonly own: number;

  constructor(private readonly hold: Hold, private readonly observing: Observing) {
    this.own = ownOf(hold, observing);
  }

  /** One window more; null where samples are missing. */
  take(number: number, window: Window | null, part = 0): void {
    const { windows } = this.hold;
    const follows = this.last === null || (this.last[0] === part && this.last[1] === number - 1);
    this.last = [part, number];
    const place = number % windows;
    const episode = this.episode(part, Math.floor(number / windows), follows);
    episode.waiting.push(number);
    const looked = episode.look(follows || !episode.observed.length ? window : null, this.own);
    if (place === windows - 1) episode.end();
    if (!follows || window === null) this.before = [];
    const forNext = this.observing.observe === "before" && !looked && place >= windows - this.observing.windows;
    if (forNext && window !== null) this.before.push(window);
  }

  /** The stream is over. */
  end(): void {
    this.current?.end();
  }

  /** Draws to be made now, or to be tried again, each with the windows that it looks at. */
  due(): { episode: Episode<Window, Drawn>; observed: Window[] }[] {
    return this.open.filter(({ state }) => state === "due").map((episode) => ({ episode, observed: this.looks(episode) }));
  }

  /** Numbers of windows that show something, each with what; of an episode that was given up, only what `fill` gives. */
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

  /** Draws that could not be made while their time lasted are not made later. */
  expire(): void {
    for (const episode of this.open.slice(0, -1)) if (episode.state === "due") episode.giveUp();
  }

  private get current(): Episode<Window, Drawn> | undefined {
    return this.open[this.open.length - 1];
  }

  private looks({ observed }: Episode<Window, Drawn>): Window[] {
    if (this.observing.observe !== "whole") return observed;
    const heard = heardPlaces({ windows: observed.length, listen: this.hold.listen });
    return observed.filter((_, place) => heard.has(place));
  }

  private episode(part: number, number: number, follows: boolean): Episode<Window, Drawn> {
    const { current } = this;
    if (current && current.part === part && current.number === number) return current;
    if (current?.state === "observing") current.giveUp(); // windows at its end are missing
    const observed = follows ? this.before : [];
    this.before = [];
    const next = new Episode<Window, Drawn>(part, number, observed);
    this.open.push(next);
    return next;
  }
}
