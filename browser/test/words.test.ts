// What the popup says follows from the bundle's own numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, holdSeconds, mayInfer, perDay, price, secondsLeft } from "../src/extension/popup/words";
import { isSealed, NO_REPORTS, sealOf, unsealed, withSiteReport } from "../src/extension/seal";
import { NO_BUDGET } from "deeprotect";
import { load } from "../../device/test/vectors";

const NOTHING_SPENT = { draws: 0, hour: 0, day: 0, inAll: 0 };

test("a promise names what it hides, and its factor", async () => {
  assert.match(mayInfer(load("channel ldp")).hidden, /Everything else: .* e\^2 ≈ 7.39/);
  assert.match(mayInfer(load("channel named")).hidden, /Classes of “\u2068person\u2069” .* e\^0.5 ≈ 1.65, with confidence 0.95/);
  assert.equal(price(load("channel held"), 3), "ε = 2 for every 0.6 s of motion");
  assert.equal(price(load("channel named"), 1), "ε = 0.5 (LDP 4) for every 0.2 s of motion");
});

test("what is left of a budget is time, never more than the tightest bound allows", async () => {
  const lasts = holdSeconds(load("channel held"), 50);
  assert.equal(lasts, 10);
  assert.equal(secondsLeft(NO_BUDGET, NOTHING_SPENT, 2, lasts), null);
  const budget = { perHour: 9, perDay: 100, inAll: null };
  assert.equal(secondsLeft(budget, NOTHING_SPENT, 2, lasts), 40); // four draws of ε = 2 under 9
  assert.equal(secondsLeft(budget, { ...NOTHING_SPENT, day: 99 }, 2, lasts), 0);
  assert.equal(secondsLeft({ ...NO_BUDGET, perDay: perDay(2, 2, lasts) }, NOTHING_SPENT, 2, lasts), 7200);
});

test("durations read as people say them", () => {
  assert.deepEqual([0.2, 30, 90, 3600, 7320].map(duration), ["0.2 s", "30 s", "1 min", "1 h", "2 h 2 min"]);
});

test("sealed is claimed only where a page was denied what we were granted", () => {
  const site = "https://a.example";
  assert.equal(sealOf({ own: "granted", sites: [] }, site), "partial");
  for (const own of ["granted", "denied", "prompt"] as const) {
    for (const state of ["granted", "denied", "prompt"] as const) {
      const reports = withSiteReport({ ...NO_REPORTS, own }, site, state);
      const wanted = own === "granted" && state === "denied" ? "sealed" : "partial";
      assert.equal(sealOf(reports, site), wanted);
      assert.equal(isSealed(reports), wanted === "sealed");
      assert.equal(isSealed(withSiteReport(reports, "https://b.example", "granted")), false, "the last site tells");
      assert.deepEqual(unsealed(reports), state === "denied" ? [] : [site]);
    }
  }
});
