// The one file of numbers in a bundle: named whole numbers in the safetensors format, which holds no program.
import { BundleError } from "./errors";
import { type Json, parse } from "./json";
import { Record } from "./record";

export const TENSORS = "tensors.safetensors";
const LONGEST_HEADER = 1 << 20; // some thousands of tensors
const TYPES = { I8: Int8Array, I16: Int16Array, U16: Uint16Array };

/** Whole numbers that 16 bits hold. */
export interface Integers {
  readonly shape: readonly number[];
  readonly values: Int32Array;
}

interface Stored {
  readonly dtype: keyof typeof TYPES;
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

  /** An array with so many axes, none of them empty. */
  integers(name: string, axes = 1): Integers {
    const found = this.stored.get(name);
    if (!found) throw new BundleError(`${TENSORS}: a tensor that a layer needs is missing; get a fresh copy of the bundle`);
    const { shape, begin, end, dtype } = found;
    if (shape.length !== axes || shape.includes(0)) {
      throw new BundleError(`${TENSORS}: a tensor has another shape than its layer needs; train again`);
    }
    this.read.add(name);
    const aligned = this.data.slice(begin, end).buffer;
    return { shape, values: new Int32Array(new TYPES[dtype](aligned)) };
  }

  /** Numbers that no layer reads have no business in a bundle. */
  checkAllUsed(): void {
    if (this.stored.size > this.read.size) {
      throw new BundleError(`${TENSORS} holds tensors that no layer uses; get a fresh copy of the bundle`);
    }
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
  const [shape, offsets] = [record.integers("shape"), record.integers("data_offsets")];
  const dtype = (Object.keys(TYPES) as Stored["dtype"][]).find((each) => each === record.text("dtype")) ?? refuse();
  const [begin, end] = [offsets[0] ?? -1, offsets[1] ?? -1];
  const size = shape.reduce((product, axis) => product * axis, TYPES[dtype].BYTES_PER_ELEMENT);
  const fits = shape.every((axis) => axis >= 0) && Number.isSafeInteger(size);
  if (offsets.length !== 2 || begin < 0 || !fits || end - begin !== size) refuse();
  return { dtype, shape, begin, end };
}

function refuse(): never {
  throw new BundleError(`${TENSORS} is not a file of tensors; get a fresh copy of the bundle`);
}
