// The one file of numbers in a bundle: named arrays in the safetensors format, which holds no program.
import { BundleError } from "./errors";
import { type Json, parse } from "./json";
import { Record } from "./record";

export const TENSORS = "tensors.safetensors";
const LONGEST_HEADER = 100_000_000;
const DTYPES = ["F32", "I64"];

export interface Floats {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

interface Stored {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** Arrays by name; nothing in them is believed before it is checked. */
export class TensorReader {
  private readonly stored = new Map<string, Stored>();
  private readonly read = new Set<string>();
  private readonly data: Uint8Array;

  constructor(content: Uint8Array) {
    const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
    const length = content.length < 8 ? Infinity : Number(view.getBigUint64(0, true));
    if (length > Math.min(LONGEST_HEADER, content.length - 8)) refuse();
    this.data = content.subarray(8 + length);
    for (const [name, entry] of Object.entries(header(content.subarray(8, 8 + length)))) {
      if (name !== "__metadata__") this.stored.set(name, readEntry(entry));
    }
    this.checkLayout();
  }

  /** A finite float32 array with so many axes, none of them empty. */
  floats(name: string, axes: number): Floats {
    const found = this.get(name, axes, "F32", "finite numbers in float32");
    const values = new Float32Array(this.bytes(found).buffer);
    if (!values.every(Number.isFinite)) throw new BundleError(`${TENSORS}: a tensor of a network must be finite numbers`);
    return { shape: found.shape, values };
  }

  integers(name: string): BigInt64Array {
    return new BigInt64Array(this.bytes(this.get(name, 1, "I64", "whole numbers in int64")).buffer);
  }

  /** Numbers that no layer reads have no business in a bundle. */
  checkAllUsed(): void {
    if (this.stored.size > this.read.size) {
      throw new BundleError(`${TENSORS} holds tensors that no layer uses; get a fresh copy of the bundle`);
    }
  }

  private get(name: string, axes: number, dtype: string, wanted: string): Stored {
    const found = this.stored.get(name);
    if (!found) throw new BundleError(`${TENSORS}: a tensor that a layer needs is missing; get a fresh copy of the bundle`);
    if (found.shape.length !== axes || found.shape.includes(0)) {
      throw new BundleError(`${TENSORS}: a tensor has another shape than its layer needs; train again`);
    }
    if (found.dtype !== dtype) throw new BundleError(`${TENSORS}: a tensor must be ${wanted}; train again`);
    this.read.add(name);
    return found;
  }

  /** A copy, because arrays of numbers must start at multiples of their size. */
  private bytes(found: Stored): Uint8Array<ArrayBuffer> {
    return this.data.slice(found.begin, found.end) as Uint8Array<ArrayBuffer>;
  }

  /** Tensors fill the file without a gap, an overlap or a rest. */
  private checkLayout(): void {
    let end = 0;
    for (const each of [...this.stored.values()].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
      if (each.begin !== end) refuse();
      end = each.end;
    }
    if (end !== this.data.length) refuse();
  }
}

function header(content: Uint8Array): { [name: string]: Json } {
  try {
    return new Record(parse(new TextDecoder("utf-8", { fatal: true }).decode(content)), TENSORS).fields;
  } catch {
    return refuse();
  }
}

function readEntry(entry: Json): Stored {
  const record = new Record(entry, TENSORS).only("dtype", "shape", "data_offsets");
  const [dtype, shape, offsets] = [record.text("dtype"), record.integers("shape"), record.integers("data_offsets")];
  const [begin, end] = [offsets[0] ?? -1, offsets[1] ?? -1];
  const size = shape.reduce((product, axis) => product * axis, dtype === "F32" ? 4 : 8);
  const fits = DTYPES.includes(dtype) && shape.every((axis) => axis >= 0) && Number.isSafeInteger(size);
  if (offsets.length !== 2 || begin < 0 || !fits || end - begin !== size) refuse();
  return { dtype, shape, begin, end };
}

function refuse(): never {
  throw new BundleError(`${TENSORS} is not a file of tensors; get a fresh copy of the bundle`);
}
