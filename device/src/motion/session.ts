// From raw readings to what pages get: sampled, released, made consistent, coarsened; all on one clock.
import type { Bundle, WhenSpent } from "../bundle";
import type { Hold } from "../episodes";
import type { Host } from "../host";
import type { Ledger } from "../ledger";
import { Pipe } from "../pipe";
import type { Channels, Stream } from "./channels";
import { Consistent, type Uncovered } from "./consistent";
import { Player } from "./player";
import { type Reading, coarse } from "./reading";
import { Sampler, type Window } from "./sampler";

const READY_MS = 40; // after a window's end its release begins to play: longer than a release takes

export interface Choices {
  readonly hold: Hold;
  readonly uncovered: Uncovered;
  readonly whenSpent: WhenSpent;
  /** The host's random bits; the engine's own where it has some. */
  readonly random?: Host["random"];
}

/** What a page can get at all. */
export interface Available {
  readonly acceleration: boolean;
  readonly rotationRate: boolean;
  readonly orientation: boolean;
}

/** One device's stream; whoever listens gets the same. */
export class Session {
  private pipe: Pipe;
  private sampler: Sampler;
  private player: Player;
  private readonly consistent: Consistent;

  constructor(
    private readonly bundle: Bundle,
    private readonly channels: Channels,
    private readonly ledger: Ledger,
    private readonly choices: Choices,
  ) {
    this.consistent = new Consistent(choices.uncovered);
    this.player = new Player(bundle.policy.schema);
    this.pipe = new Pipe(bundle, ledger, choices.hold, choices.whenSpent, choices.random);
    this.sampler = new Sampler(bundle.policy.schema, 0);
  }

  get available(): Available {
    const [{ covered }, rest] = [this.channels, this.choices.uncovered === "rest"];
    const felt = covered.has("accelerationIncludingGravity");
    return {
      acceleration: rest || felt || covered.has("acceleration"),
      rotationRate: rest || covered.has("rotationRate"),
      orientation: rest || felt,
    };
  }

  /** Somebody listens again. Slots begin anew only when the last episode is over: stopping never buys a new draw. */
  start(now: number): void {
    const length = this.sampler.slotMs * this.choices.hold.windows;
    const episodeEnd = (Math.floor((this.lastRelease - this.origin) / length) + 1) * length + this.origin;
    if (now < episodeEnd) return;
    this.origin = now;
    this.sampler = new Sampler(this.bundle.policy.schema, now);
    this.player = new Player(this.bundle.policy.schema);
    this.pipe = new Pipe(this.bundle, this.ledger, this.choices.hold, this.choices.whenSpent, this.choices.random);
    void this.begin(now);
  }

  private async begin(now: number): Promise<void> {
    const { player } = this;
    const released = await this.pipe.begin(0);
    if (released) player.add(now, released);
  }

  private origin = 0;
  private lastRelease = -Infinity;

  /** A raw reading of the platform; false where it lacks a channel that the policy names, so that nothing can leave. */
  read(raw: Pick<Reading, Stream>): boolean {
    const values = this.channels.sample(raw);
    if (values) this.sampler.read(values);
    return values !== null;
  }

  /** What pages get now; null before the first release. */
  tick(now: number): Reading | null {
    for (const window of this.sampler.advance(now)) void this.release(window);
    const sample = this.player.at(now);
    return sample && coarse(this.consistent.reading(this.channels.streams(sample), now));
  }

  private async release({ slot, samples }: Window): Promise<void> {
    const [pipe, player] = [this.pipe, this.player];
    const start = this.sampler.startOf(slot + 1);
    this.lastRelease = start;
    const released = await pipe.push(slot, samples, Date.now());
    if (released) player.add(start + READY_MS, released);
  }
}
