// Limits of a policy travel in its bundle, and hold whatever a person chooses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ledger, NO_BUDGET, NO_CHARGES, type Charges, stricter } from "../src/ledger";
import { readPolicy } from "../src/policy";
import { parse } from "../src/json";
import { Record } from "../src/record";

const POLICY = {
  version: 1,
  stream: { rate_hz: 10, window: 4, when_missing: "nothing", channels: [{ name: "acc_x", unit: "g", range: [-4, 4] }] },
  inferences: { useful: ["activity"], sensitive: [] },
  privacy: {
    epsilon: 5, guarantee: "ldp", confidence: 0.95, mechanism: "channel",
    budget: { per_hour: 10, in_all: 15, when_spent: "refuse" },
  },
  about: { owner: "someone" },
};

function policy(changes: object = {}) {
  const privacy = { ...POLICY.privacy, ...changes };
  return readPolicy(new Record(parse(JSON.stringify({ ...POLICY, privacy })), "policy"));
}

test("limits of a policy are read", () => {
  assert.deepEqual(policy().budget, { perHour: 10, perDay: null, inAll: 15 });
  assert.throws(() => policy({ budget: { per_hour: 0 } }), /not positive/);
  assert.throws(() => policy({ budget: { per_week: 1 } }));
});

test("a person's choice tightens a limit and never loosens it", () => {
  const chosen = stricter({ perHour: 100, perDay: 20, inAll: null }, policy().budget);
  assert.deepEqual(chosen, { perHour: 10, perDay: 20, inAll: 15 });
  assert.deepEqual(stricter(NO_BUDGET, NO_BUDGET), NO_BUDGET);
});

test("draws beyond a policy's limit are refused", async () => {
  let kept: Charges = NO_CHARGES;
  const store = { load: async () => kept, save: async (charges: Charges) => void (kept = charges) };
  const ledger = new Ledger(store, stricter(NO_BUDGET, policy().budget));
  await ledger.charge(5, 0);
  await ledger.charge(5, 0);
  await assert.rejects(ledger.charge(5, 0), /budget is spent/);
  await ledger.charge(5, 2 * 3_600_000);
  await assert.rejects(ledger.charge(5, 9 * 3_600_000), /budget is spent/);
});
