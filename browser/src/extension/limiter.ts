// Limits how often a page may ask, by a token bucket: a page that asks more often delays only itself.

const BURST = 20;
const PERIOD_MS = 500;

export class RateLimiter {
  private free = -Infinity; // when the next request could go if the burst were used up

  /** Resolves when the next request may go. */
  wait(now = performance.now()): Promise<void> {
    this.free = Math.max(this.free, now - BURST * PERIOD_MS) + PERIOD_MS;
    const delay = this.free - now;
    return delay > 0 ? new Promise((resolve) => setTimeout(resolve, delay)) : Promise.resolve();
  }
}
