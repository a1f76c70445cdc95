// Hold: one draw for a stretch of time. Which windows inform the draw of which episode, by the clock alone.
import type { Per } from "./event";

/** So many windows leave under one draw; so many of an episode's are looked at, spread evenly over it. */
export interface Hold {
  readonly windows: number;
  readonly listen: number;
}

export function perOf(hold: Hold): Per {
  return hold.windows === 1 ? "window" : "episode";
}

/** The middles of `listen` equal parts of an episode, or every place where there are no more than that. */
export function heardPlaces({ windows, listen }: Hold): Set<number> {
  const parts = Math.min(windows, listen);
  return new Set(Array.from({ length: parts }, (_, part) => Math.floor(((2 * part + 1) * windows) / (2 * parts))));
}

/**
 * Episodes of a live stream, as Python's `ListenBefore`. Slots are windows of time, counted by the clock; an episode is
 * `windows` slots that begin at a multiple of it. The draw for an episode is made at its start, from those windows of
 * the one before that a file's draw listens to; where none of them were seen, a placeholder is drawn without looking.
 * A window informs at most one draw, and an episode has one draw, however often the stream is stopped and started.
 */
export class Episodes<Evidence, Drawn> {
  private kept: { episode: number; evidence: Evidence }[] = [];
  private current: { episode: number; drawn: Drawn } | null = null;
  private readonly heard: Set<number>;

  constructor(private readonly hold: Hold) {
    this.heard = heardPlaces(hold);
  }

  /** The window of a slot is complete. */
  add(slot: number, evidence: Evidence): void {
    if (this.heard.has(slot % this.hold.windows)) this.kept.push({ episode: this.episodeOf(slot), evidence });
  }

  /** What leaves in a slot: drawn now, or held. */
  async at(slot: number, draw: (evidence: Evidence[]) => Promise<Drawn>, placeholder: () => Drawn): Promise<Drawn> {
    const episode = this.episodeOf(slot);
    if (this.current?.episode === episode) return this.current.drawn;
    const evidence = this.kept.filter((each) => each.episode === episode - 1).map((each) => each.evidence);
    this.kept = this.kept.filter((each) => each.episode >= episode); // even if the draw fails: none is looked at twice
    const drawn = evidence.length ? await draw(evidence) : placeholder();
    this.current = { episode, drawn };
    return drawn;
  }

  private episodeOf(slot: number): number {
    return Math.floor(slot / this.hold.windows);
  }
}
