// Every error raised on purpose; each says what to change, and none carries a sample.

/** A bundle that is altered, incomplete, foreign or newer than this version. */
export class BundleError extends Error {
  override name = "BundleError";
}

/** Rows that do not fit the bundle, or randomness that is not good enough. */
export class InputError extends Error {
  override name = "InputError";
}

/** A release would spend more than the budget allows; nothing was released. */
export class BudgetError extends Error {
  override name = "BudgetError";
}
