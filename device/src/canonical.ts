// JSON as Python writes it with sorted keys and no spaces: what a bundle's digest is taken of.
import { type Json, isObject } from "./json";

export function canonical(value: Json): string {
  if (typeof value === "string") return text(value);
  if (typeof value === "number") return float(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isObject(value)) {
    const names = Object.keys(value).sort(byCodePoint);
    return `{${names.map((name) => `${text(name)}:${canonical(value[name]!)}`).join(",")}}`;
  }
  return String(value); // null, true, false and whole numbers
}

/** A float as Python's repr: the same shortest digits as JavaScript's, but other rules for where the point stands. */
export function float(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e") as [string, string];
  const exponent = Number(power);
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return sign + positional(mantissa.replace(".", ""), exponent);
}

function positional(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** Quoted with the escapes that JSON asks for and no others. */
export function text(value: string): string {
  const escaped = value.replace(/["\\\u0000-\u001f]/g, (sign) => JSON.stringify(sign).slice(1, -1));
  return `"${escaped}"`;
}

/** The same in ASCII alone, as Python writes by default. */
export function asciiText(value: string): string {
  return text(value).replace(/[\u007f-\uffff]/g, (sign) => {
    return sign === "\u007f" ? sign : `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Python sorts by code point, JavaScript by UTF-16 unit: they differ beyond the basic plane. */
function byCodePoint(left: string, right: string): number {
  const [a, b] = [[...left], [...right]];
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    const difference = a[at]!.codePointAt(0)! - b[at]!.codePointAt(0)!;
    if (difference) return difference;
  }
  return a.length - b.length;
}
