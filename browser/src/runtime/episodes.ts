// Hold: one draw for a stretch of time. Which windows inform the draw of which episode, by the clock alone.
import type { Per } from "./event";

/** So many windows leave under one draw, for which so many are looked at. */
export interface Hold {
  readonly windows: number;
  readonly listen: number;
}

export function perOf(hold: Hold): Per {
  return hold.windows === 1 ? "window" : "episode";
}

/**
 * Episodes of a live stream. Slots are windows of time, counted by the clock; an episode is `windows` slots that begin
 * at a multiple of it. The draw for an episode is made at its start from the last `listen` windows before it; where the
 * stream begins inside an episode, from its first window. A window informs at most one draw, and an episode has one
 * draw, however often the stream is stopped and started.
 */
export class Episodes<Evidence, Drawn> {
  private waiting: { slot: number; evidence: Evidence }[] = [];
  private current: { episode: number; drawn: Drawn } | null = null;

  constructor(private readonly hold: Hold) {}

  /** The window of a slot is complete. */
  add(slot: number, evidence: Evidence): void {
    this.waiting.push({ slot, evidence });
    const oldest = slot - this.hold.listen;
    this.waiting = this.waiting.filter((each) => each.slot > oldest);
  }

  /** What leaves in a slot: drawn now, or held; `draw` gets the windows that inform it. Null before the first. */
  async at(slot: number, draw: (evidence: Evidence[]) => Promise<Drawn>): Promise<Drawn | null> {
    const episode = Math.floor(slot / this.hold.windows);
    if (this.current?.episode === episode) return this.current.drawn;
    const evidence = this.waiting.map((each) => each.evidence);
    if (!evidence.length) return null;
    this.waiting = []; // even if the draw fails: no window is looked at twice
    const drawn = await draw(evidence);
    this.current = { episode, drawn };
    return drawn;
  }
}
