// Runs all checks in an engine that can only print; with CASES, runs Python's random networks and prints the results.
import { type Case, CHECKS, answer } from "./conformance";

declare const print: (text: string) => void;
const { CASES } = globalThis as { CASES?: readonly Case[] };

async function checked(): Promise<void> {
  for (const [name, run] of CHECKS) {
    try {
      await run();
      print(`ok ${name}`);
    } catch (error) {
      print(`not ok ${name}: ${String(error)}`);
    }
  }
  print(`${CHECKS.length} checks`);
}

if (CASES) CASES.forEach((each) => print(JSON.stringify(answer(each))));
else void checked();
