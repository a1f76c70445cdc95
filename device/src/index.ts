// The device runtime: what a host needs to release a stream of motion under a bundle's promise.
export { Bundle, type Exported, type Imported, type Policy, type WhenMissing, type WhenSpent } from "./bundle";
export type { Hold } from "./episodes";
export { BudgetError, BundleError, InputError, StoreError } from "./errors";
export { type Host, engineRandom } from "./host";
export {
  type Budget,
  type Charges,
  Ledger,
  NO_BUDGET,
  NO_CHARGES,
  type Remaining,
  type Spending,
  type Store,
  spending,
  stricter,
} from "./ledger";
export type { Promised } from "./mechanism";
export { Channels, type Place, STREAMS, type Stream } from "./motion/channels";
export { Consistent, type Uncovered } from "./motion/consistent";
export { Motion, type Options, type Protection } from "./motion/motion";
export { Playback, type Shown } from "./motion/playback";
export { NOTHING, type Reading, type Vector, coarse } from "./motion/reading";
export { Sampler, type Window } from "./motion/sampler";
export { type Available, type Choices, Slots } from "./motion/slots";
export { type Raw, type Sensors, Source, type Timers } from "./motion/source";
export type { State, Status } from "./motion/status";
export { Network } from "./network";
export { type Kind, Pipe, type Released } from "./pipe";
export { Schema } from "./schema";
export { type KeyValues, storeIn } from "./storage";
export { TensorReader } from "./tensors";
