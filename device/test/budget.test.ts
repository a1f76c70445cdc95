// Limits of a policy hold whatever a person chooses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ledger, NO_BUDGET, NO_CHARGES, type Charges, stricter } from "../src/ledger";

const POLICY = { perHour: 10, perDay: null, inAll: 15 };

test("a person's choice tightens a limit and never loosens it", () => {
  const chosen = stricter({ perHour: 100, perDay: 20, inAll: null }, POLICY);
  assert.deepEqual(chosen, { perHour: 10, perDay: 20, inAll: 15 });
  assert.deepEqual(stricter(NO_BUDGET, NO_BUDGET), NO_BUDGET);
});

test("draws beyond a policy's limit are refused", async () => {
  let kept: Charges = NO_CHARGES;
  const store = { load: async () => kept, save: async (charges: Charges) => void (kept = charges) };
  const ledger = new Ledger(store, stricter(NO_BUDGET, POLICY));
  await ledger.charge(5, 0);
  await ledger.charge(5, 0);
  await assert.rejects(ledger.charge(5, 0), /budget is spent/);
  await ledger.charge(5, 2 * 3_600_000);
  await assert.rejects(ledger.charge(5, 9 * 3_600_000), /budget is spent/);
});
