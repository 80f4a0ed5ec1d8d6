// What a store keeps of each object: the frozen object itself, or its packed text and the object while somebody has it.
import type { DeepReadonly, KubeObject, ObjectKey } from "../../meta.ts";
import { deepFreeze } from "../freeze.ts";
import { Living } from "./living.ts";
import { Packer } from "./packer.ts";

export interface PackingOptions {
  /** Fields, on any level, whose texts are the same in very many objects: 10,000 different ones are written once. */
  readonly repeats: readonly string[];
}

/** Opaque outside of this file: `open` makes the object of it. */
export type Kept<T extends KubeObject> = DeepReadonly<T> | string;

export class Shelf<T extends KubeObject> {
  readonly #packer: Packer<T> | undefined;
  readonly #living = new Living<DeepReadonly<T> & object>();

  constructor(packing: PackingOptions | undefined) {
    if (packing !== undefined) this.#packer = new Packer<T>(new Set(packing.repeats));
  }

  /** To be kept. */
  keep(object: T): Kept<T> {
    return this.#packer === undefined ? deepFreeze(object) : this.#packer.pack(object);
  }

  /** The same object for as long as anybody has it. */
  open(key: ObjectKey, kept: Kept<T>): DeepReadonly<T> {
    if (typeof kept !== "string") return kept;
    return this.#living.get(key) ?? this.#living.given(key, this.unpack(kept));
  }

  /** For a walk over all: what nobody has is made and not remembered, else all would stay until the walk ends. */
  look(key: ObjectKey, kept: Kept<T>): DeepReadonly<T> {
    if (typeof kept !== "string") return kept;
    return this.#living.peek(key) ?? this.unpack(kept);
  }

  /** The object that `unpack` made of what is kept under the key from now on. */
  adopt(key: ObjectKey, kept: Kept<T>, object: DeepReadonly<T> & object): void {
    if (typeof kept === "string") this.#living.came(key, object);
  }

  /** Another is kept under the key, or none. */
  forget(key: ObjectKey): void {
    this.#living.delete(key);
  }

  unpack(kept: Kept<T>): DeepReadonly<T> & object {
    return typeof kept === "string" ? deepFreeze(this.#packer!.unpack(kept)) : kept;
  }
}
