// Tables of calibration counts: one for a secret, or one for each useful class, and what is in none of them.
// Nothing may be missing: every useful class stands with every class of the secret. docs/claims.md#given-the-useful-label
import { FEWEST_GIVEN, LONGEST_CODE, type Secret, readTable } from "./calibration";
import { BundleError } from "./errors";
import { type Event, checkNames } from "./event";
import { Record } from "./record";

/** A useful class with a class of a secret that is promised nothing. */
interface Combination {
  readonly inference: string;
  readonly given: string;
  readonly sensitive: string;
  readonly windows: number;
}

export class Tables {
  private constructor(readonly secrets: readonly Secret[], private readonly leftOut: readonly Combination[]) {}

  static read(record: Record, inferences: readonly string[]): Tables {
    const [secrets, leftOut]: [Secret[], Combination[]] = [[], []];
    for (const inference of inferences) {
      const inner = record.inner(inference);
      if (!inner.has("tables")) {
        secrets.push(readTable(inner.only("classes", "counts", "epsilon"), inference, ""));
        continue;
      }
      inner.only("tables", "without_promise");
      for (const fields of inner.list("tables")) {
        const table = new Record(fields, "mechanism.tables").only("classes", "counts", "epsilon", "given");
        const given = table.text("given");
        checkNames([given], "the name of a useful class", LONGEST_CODE);
        secrets.push(readTable(table, inference, given));
      }
      leftOut.push(...readLeftOut(inner.inner("without_promise"), inference));
    }
    return new Tables(secrets, leftOut);
  }

  classesOf(inference: string): Set<string> {
    const tables = this.secrets.filter((each) => each.inference === inference).flatMap((each) => each.classes);
    const rest = this.leftOut.filter((each) => each.inference === inference).map((each) => each.sensitive);
    return new Set([...tables, ...rest]);
  }

  /** Given the useful class, every one of them is accounted for; otherwise an inference has one table. */
  check(event: Event, useful: readonly string[]): void {
    const given = event.given.length > 0;
    if (this.secrets.some((each) => Boolean(each.given) !== given)) refuse("the event must say what the promise is given");
    if (!given && (this.leftOut.length || event.inferences.length !== this.secrets.length)) {
      refuse("a sensitive inference needs one table of counts");
    }
    if (!given) return;
    const all = [...this.secrets, ...this.leftOut].map((each) => each.inference);
    for (const inference of new Set(all)) this.checkComplete(inference, useful);
  }

  private checkComplete(inference: string, useful: readonly string[]): void {
    const tables = this.secrets.filter((each) => each.inference === inference);
    const rest = this.leftOut.filter((each) => each.inference === inference);
    const pairs = [
      ...tables.flatMap((table) => table.classes.map((name) => [table.given, name])),
      ...rest.map((each) => [each.given, each.sensitive]),
    ];
    const [known, classes] = [new Set(useful), new Set(pairs.map(([, name]) => name))];
    const seen = new Set(pairs.map(([given]) => given!));
    if (known.size !== useful.length) refuse("two useful classes have one name");
    if (seen.size !== known.size || ![...seen].every((each) => known.has(each))) refuse("each useful class must be counted");
    const distinct = new Set(pairs.map((pair) => JSON.stringify(pair))).size;
    if (distinct !== pairs.length || pairs.length !== useful.length * classes.size) refuse("each class must be stated once");
    if (new Set(tables.map((table) => table.epsilon)).size !== 1) refuse("a secret needs one epsilon and one table or more");
    this.checkRare(tables, rest);
  }

  /** Seen often enough and in no table: only where no other class was, so that there is nothing to compare with. */
  private checkRare(tables: readonly Secret[], rest: readonly Combination[]): void {
    for (const given of new Set(rest.filter((each) => each.windows >= FEWEST_GIVEN).map((each) => each.given))) {
      const often = rest.filter((each) => each.given === given && each.windows >= FEWEST_GIVEN).length;
      const counted = tables.filter((table) => table.given === given).reduce((sum, table) => sum + table.classes.length, 0);
      if (often + counted > 1) refuse(`a combination that was seen in ${FEWEST_GIVEN} windows or more is left out`);
    }
  }
}

function readLeftOut(record: Record, inference: string): Combination[] {
  record.only("given", "classes", "windows");
  const [given, classes, windows] = [record.texts("given"), record.texts("classes"), record.integers("windows")];
  checkNames(given, "the name of a useful class", LONGEST_CODE);
  checkNames(classes, "the name of a class");
  if (classes.length !== given.length || windows.length !== given.length || windows.some((count) => count < 0)) {
    refuse("its lists of what is promised nothing must be of one length");
  }
  return given.map((each, at) => ({ inference, given: each, sensitive: classes[at]!, windows: windows[at]! }));
}

function refuse(why: string): never {
  throw new BundleError(`mechanism: ${why}; restore the bundle or train again`);
}
