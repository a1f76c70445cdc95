// JSON as the bundle's maker reads it: whole numbers stay whole (bigint), a key that stands twice is refused.

export type Json = null | boolean | bigint | number | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json };

const DEEPEST = 200;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES: Record<string, string> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** The value of a JSON text; a SyntaxError for anything that Python's reader or ours would not take. */
export function parse(text: string): Json {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(depth: number): Json {
    if (depth > DEEPEST) throw new SyntaxError("nested too deeply");
    this.space();
    const next = this.text[this.at];
    if (next === "{") return this.object(depth);
    if (next === "[") return this.list(depth);
    if (next === '"') return this.string();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  end(): void {
    this.space();
    if (this.at < this.text.length) throw new SyntaxError("text after the value");
  }

  private object(depth: number): JsonObject {
    // Without a prototype: "__proto__" is then a name as any other.
    const found: JsonObject = Object.create(null);
    this.items("}", () => {
      this.space();
      const name = this.string();
      if (name in found) throw new SyntaxError("a key stands twice");
      this.space();
      this.take(":");
      found[name] = this.value(depth + 1);
    });
    return found;
  }

  private list(depth: number): Json[] {
    const found: Json[] = [];
    this.items("]", () => found.push(this.value(depth + 1)));
    return found;
  }

  private items(close: string, item: () => void): void {
    this.at += 1;
    this.space();
    if (this.text[this.at] === close) {
      this.at += 1;
      return;
    }
    for (;;) {
      item();
      this.space();
      if (this.text[this.at] === close) break;
      this.take(",");
    }
    this.at += 1;
  }

  private string(): string {
    this.take('"');
    let found = "";
    for (;;) {
      PLAIN.lastIndex = this.at;
      const plain = PLAIN.exec(this.text)![0];
      found += plain;
      this.at += plain.length + 1;
      const stop = this.text[this.at - 1];
      if (stop === '"') return found;
      if (stop !== "\\") throw new SyntaxError("a text is not closed");
      found += this.escape();
    }
  }

  private escape(): string {
    const letter = this.text[this.at++] ?? "";
    if (letter in ESCAPES) return ESCAPES[letter]!;
    const digits = this.text.slice(this.at, this.at + 4);
    if (letter !== "u" || !/^[0-9a-fA-F]{4}$/.test(digits)) throw new SyntaxError("an unknown escape");
    this.at += 4;
    return String.fromCharCode(parseInt(digits, 16));
  }

  private number(): bigint | number {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (!found || found[0].length > 4300) throw new SyntaxError("no value");
    this.at += found[0].length;
    return found[1] === undefined && found[2] === undefined ? BigInt(found[0]) : Number(found[0]);
  }

  private take(sign: string): void {
    if (this.text[this.at] !== sign) throw new SyntaxError(`expected ${sign}`);
    this.at += 1;
  }

  private space(): void {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at += 1;
  }
}
