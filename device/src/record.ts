// Reading what a bundle says about itself; nothing in it is believed before it is checked.
import { BundleError } from "./errors";
import { Fraction } from "./fraction";
import { type Json, type JsonObject, isObject } from "./json";

const FRACTION = /^[0-9]{1,16}\/[0-9]{1,16}$/;

/** One JSON object with a name for error messages. */
export class Record {
  readonly fields: JsonObject;

  constructor(fields: Json | undefined, readonly name = "mechanism") {
    if (!isObject(fields)) throw new BundleError(`${name} must be a JSON object; restore the bundle or train again`);
    this.fields = fields;
  }

  text(field: string): string {
    const value = this.get(field);
    return typeof value === "string" ? value : this.refuse(field, "a text");
  }

  texts(field: string): string[] {
    const values = this.list(field);
    if (!values.every((value) => typeof value === "string")) this.refuse(field, "a list of texts");
    return values as string[];
  }

  number(field: string): number {
    return this.finite(field, this.get(field));
  }

  /** A whole number that JavaScript holds exactly. */
  integer(field: string): number {
    return this.whole(field, this.get(field));
  }

  integers(field: string): number[] {
    return this.list(field).map((value) => this.whole(field, value));
  }

  floats(field: string): number[] {
    return this.list(field).map((value) => this.finite(field, value));
  }

  matrix(field: string): number[][] {
    const rows = this.list(field).map((row) => (Array.isArray(row) ? row : this.refuse(field, "a list")) as Json[]);
    if (!rows.length || !rows[0]!.length || rows.some((row) => row.length !== rows[0]!.length)) {
      this.refuse(field, "a matrix with rows of one length");
    }
    return rows.map((row) => row.map((value) => this.finite(field, value)));
  }

  fractions(field: string): Fraction[] {
    const parts = this.texts(field).map((value) => (FRACTION.test(value) ? value.split("/").map(BigInt) : []));
    if (!parts.every(([, below]) => below)) this.refuse(field, 'a list of fractions such as "3/4"');
    return parts.map(([above, below]) => new Fraction(above!, below!));
  }

  inner(field: string): Record {
    return new Record(this.get(field), `${this.name}.${field}`);
  }

  has(field: string): boolean {
    return field in this.fields;
  }

  /** Keys that this version does not know might change what is promised. */
  only(...known: string[]): this {
    const strange = Object.keys(this.fields).some((field) => !known.includes(field));
    if (strange) throw new BundleError(`${this.name} has a key that this version does not know; upgrade`);
    return this;
  }

  get(field: string): Json {
    if (!this.has(field)) throw new BundleError(`${this.name}: '${field}' is missing; restore the bundle or train again`);
    return this.fields[field]!;
  }

  list(field: string): Json[] {
    const value = this.get(field);
    return Array.isArray(value) ? value : this.refuse(field, "a list");
  }

  refuse(field: string, wanted: string): never {
    throw new BundleError(`${this.name}: '${field}' must be ${wanted}; restore the bundle or train again`);
  }

  private finite(field: string, value: Json): number {
    if (typeof value !== "bigint" && typeof value !== "number") this.refuse(field, "finite numbers");
    const number = Number(value);
    return Math.abs(number) <= 1e300 ? number : this.refuse(field, "finite numbers");
  }

  private whole(field: string, value: Json): number {
    if (typeof value !== "bigint" || !Number.isSafeInteger(Number(value))) this.refuse(field, "a whole number");
    return Number(value);
  }
}
