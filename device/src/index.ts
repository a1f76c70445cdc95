// The device runtime: what a host needs to release a stream of motion under a bundle's promise.
export { Bundle } from "./bundle";
export { DiscreteChannel } from "./channel";
export type { Hold } from "./episodes";
export { BudgetError, BundleError, InputError } from "./errors";
export { type Json, parse } from "./json";
export { type Budget, type Charges, Ledger, NO_BUDGET, NO_CHARGES, type Spending, type Store, spending, stricter } from "./ledger";
export { chargeOf } from "./mechanism";
export { Channels, STREAMS, type Stream } from "./motion/channels";
export { Consistent, type Uncovered } from "./motion/consistent";
export { Player } from "./motion/player";
export { NOTHING, type Reading, type Vector, coarse } from "./motion/reading";
export { Sampler, type Window } from "./motion/sampler";
export { type Available, type Choices, Session } from "./motion/session";
export { Network } from "./network";
export { Pipe, type WhenSpent } from "./pipe";
export { Record } from "./record";
export { Schema } from "./schema";
export { TensorReader } from "./tensors";
