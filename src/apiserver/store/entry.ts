// One stored object: its place, its revision, and its text. The parsed form is made when first asked for.
import { parseJson } from "../json.ts";
import type { KubeObject } from "../object.ts";

/** Where an object lives. `resource` is `group/plural`; `namespace` is empty for cluster-wide objects. */
export interface StoredPlace {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export class Entry implements StoredPlace {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  /** As stored and as sent; carries `revision` in metadata.resourceVersion. */
  readonly json: string;
  #object: KubeObject | undefined;

  constructor({ resource, namespace, name }: StoredPlace, revision: number, json: string, object?: KubeObject) {
    this.resource = resource;
    this.namespace = namespace;
    this.name = name;
    this.revision = revision;
    this.json = json;
    this.#object = object;
  }

  /** Shared by every reader: never write to it, `clone` it. */
  get object(): KubeObject {
    this.#object ??= parseJson(this.json) as KubeObject;
    return this.#object;
  }
}

/** Orders objects as the real server lists them: by namespace, then name. */
export function keyOf(namespace: string, name: string): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** A key over all resources. */
export const idOf = ({ resource, namespace, name }: StoredPlace) => `${resource} ${keyOf(namespace, name)}`;

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  /** For DELETED: the last state, with the revision of the deletion. */
  readonly entry: Entry;
  readonly previous: Entry | undefined;
}
