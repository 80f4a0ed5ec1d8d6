// Objects as this process wrote them last, until the watch shows them: a look that comes sooner would write again.
import { Recent } from "../../kube/cache/recent.ts";
import { type DeepReadonly, keyOf, type KubeObject, type ObjectKey } from "../../kube/meta.ts";

/** About 2 KB each. */
const writtenMax = 2000;

export class Latest<T extends KubeObject> {
  readonly #written = new Recent<DeepReadonly<T>>(writtenMax);

  /** The newer of the two. */
  of(cached: DeepReadonly<T>): DeepReadonly<T> {
    const written = this.#written.get(keyOf(cached));
    if (written === undefined || written.metadata.uid !== cached.metadata.uid) return cached;
    return versionOf(written) > versionOf(cached) ? written : cached;
  }

  wrote(object: T): DeepReadonly<T> {
    this.#written.set(keyOf(object), object as DeepReadonly<T>);
    return object as DeepReadonly<T>;
  }

  forget(key: ObjectKey): void {
    this.#written.delete(key);
  }
}

const versionOf = ({ metadata }: DeepReadonly<KubeObject>): number => Number(metadata.resourceVersion ?? "0");
