// The checks of every engine, in node.
import { test } from "node:test";
import { CHECKS } from "./conformance";

for (const [name, run] of CHECKS) test(name, run);
