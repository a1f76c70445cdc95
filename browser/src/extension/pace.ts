// How often a page may ask: so often at once, and then so often a second. A page that asks more delays itself.

const BURST = 20;
const PERIOD_MS = 500;

export class Pace {
  private free = -Infinity; // when the next one could go, if none of the burst were left

  /** Resolves when it is one's turn. */
  turn(now = performance.now()): Promise<void> {
    this.free = Math.max(this.free, now - BURST * PERIOD_MS) + PERIOD_MS;
    const wait = this.free - now;
    return wait > 0 ? new Promise((resolve) => setTimeout(resolve, wait)) : Promise.resolve();
  }
}
