// Errors raised on purpose: each says what to change, and none quotes a sample.

/** A bundle that was changed, is incomplete or needs another version. */
export class BundleError extends Error {
  override name = "BundleError";
}

/** Input that does not fit the bundle, or a host without secure random bits. */
export class InputError extends Error {
  override name = "InputError";
}

/** The draw would cost more than the budget still allows; nothing was released. */
export class BudgetError extends Error {
  override name = "BudgetError";
}

/** The host's store failed; nothing was drawn. */
export class StoreError extends Error {
  override name = "StoreError";
}
