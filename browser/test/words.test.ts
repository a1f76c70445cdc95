// The popup's texts follow from the numbers of the bundle.
import assert from "node:assert/strict";
import { test } from "node:test";
import { budgetLine, duration, holdSeconds, mayInfer, perDay, price, secondsLeft } from "../src/extension/popup/words";
import { NO_REPORTS, allowed, ofOpenSites, sealOf, sealed, withSiteReport } from "../src/extension/seal";
import { DEFAULTS, whenSpentOf } from "../src/extension/settings";
import { type Bundle, NO_BUDGET } from "deeprotect";
import { load } from "../../device/test/vectors";

const NOTHING_SPENT = { draws: 0, hour: 0, day: 0, inAll: 0 };

test("a promise says its factor and what a reading costs", async () => {
  assert.match(mayInfer(load("channel ldp")).hidden, /Everything else: .* at most 7.39 times as likely/);
  assert.equal(price(load("channel held"), 3), "ε = 2 for every 0.6 s that sites read");
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

test("price and budget are in one unit, time that sites read", () => {
  assert.equal(budgetLine(90, null), "1 min read in the last day, no limit");
  assert.equal(budgetLine(8, 3600), "8 s read in the last day, 1 h left");
});

test("a policy that refuses once its budget is spent is not overruled; otherwise the person chooses", async () => {
  const bundle = load("channel ldp");
  const under = (whenSpent: "nothing" | "placeholder" | null) =>
    ({ ...bundle, policy: { ...bundle.policy, whenSpent } }) as Bundle;
  for (const chosen of ["nothing", "placeholder"] as const) {
    const settings = { ...DEFAULTS, whenSpent: chosen };
    assert.equal(whenSpentOf(under("nothing"), settings), "nothing");
    for (const policy of ["placeholder", null] as const) assert.equal(whenSpentOf(under(policy), settings), chosen);
  }
});

test("sealed is claimed only where a page was denied what we were granted, and of that site alone", () => {
  const [site, other] = ["https://a.example", "https://b.example"];
  assert.equal(sealOf({ own: "granted", sites: [] }, site), "partial");
  for (const own of ["granted", "denied", "prompt"] as const) {
    for (const state of ["granted", "denied", "prompt"] as const) {
      const reports = withSiteReport({ ...NO_REPORTS, own }, site, state);
      const wanted = own === "granted" && state === "denied" ? "sealed" : "partial";
      assert.equal(sealOf(reports, site), wanted);
      assert.equal(sealOf(reports, other), "partial");
      assert.deepEqual(sealed(withSiteReport(reports, other, "granted")), wanted === "sealed" ? [site] : []);
      assert.deepEqual(allowed(reports), state === "denied" ? [] : [site]);
      assert.deepEqual(ofOpenSites(reports, new Set([other])).sites, [], "a site that was closed tells nothing");
    }
  }
});
