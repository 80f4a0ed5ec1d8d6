// Writes of slice objects: made, taken over from whereabouts, granted, removed. Promised: a grant changes, and an
// object goes, only as it was when that was decided; the outcome of an unanswered write is known before the next plan.
import { grantAnnotation, sliceLabelName, type SliceGrant, writeGrant } from "../../api/slices/slice-grant.ts";
import { ipPools, leases, type StoredPool } from "../../cluster/resources.ts";
import { prefixOf, readSlice, sliceMarks, sliceName, type SlicePlace, trimSlice } from "../../cluster/slice-object.ts";
import { MultiMap } from "../../kube/cache/multi-map.ts";
import { isApiError } from "../../kube/errors.ts";
import { type DeepReadonly, keyOf, type ObjectKey, parseKey } from "../../kube/meta.ts";
import { pointer } from "../../kube/patch.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import { removed, type SliceCaches } from "../caches.ts";
import { StaleError } from "../read-your-writes.ts";

type KeepLeft = (place: SlicePlace, object: StoredPool, signal: AbortSignal) => Promise<void>;

export class SliceWriter {
  readonly #client: KubeClient;
  readonly #caches: SliceCaches;
  readonly #left: KeepLeft;
  /** Keys of objects whose write had no answer, by the key of their pool. */
  readonly #unsure = new MultiMap<ObjectKey>();

  /** `left`: keeps the holds of a slice that is not sealed. */
  constructor(client: KubeClient, caches: SliceCaches, left: KeepLeft) {
    this.#client = client;
    this.#left = left;
    this.#caches = caches;
  }

  /** Reads the pool's slices whose write had no answer. */
  async settle(pool: string, signal: AbortSignal): Promise<void> {
    for (const key of this.#unsure.get(pool)) {
      await this.#reread(key, signal);
      this.#unsure.delete(pool, key);
    }
  }

  /** The object is there afterwards, without a grant if it is new. */
  async make(place: SlicePlace, signal: AbortSignal): Promise<void> {
    const key = keyOfPlace(place);
    if (this.#caches.slices.get(key) === undefined)
      await this.#surely(place, key, () => this.#make(place, key, signal));
  }

  async grant(place: SlicePlace, grant: SliceGrant, signal: AbortSignal): Promise<void> {
    const key = keyOfPlace(place);
    const known = this.#caches.slices.get(key);
    if (known === undefined) throw new StaleError(`The slice ${key} is gone: it is looked at again.`);
    const before = readSlice(known)?.grant;
    if (before !== undefined && writeGrant(before) === writeGrant(grant)) return;
    await this.#surely(place, key, () => this.#change(known, grant, signal));
  }

  /** Also removes the Lease of the same name that whereabouts left. An object that was not seen is looked for. */
  async remove(place: SlicePlace, signal: AbortSignal): Promise<void> {
    const key = keyOfPlace(place);
    const known = this.#caches.slices.get(key);
    const there = isSealed(known) ? known : await this.#getAgain(key, signal);
    if (there !== undefined) {
      if (!isSealed(there)) await this.#left(place, there as StoredPool, signal);
      await this.#surely(place, key, () => removed(this.#client, ipPools, there, signal));
    }
    if (known !== undefined) this.#caches.slices.drop(known);
    const lease = this.#caches.leases.get(key);
    if (lease === undefined) return;
    const preconditions = { uid: lease.metadata.uid ?? "" };
    await unless(["not-found"], this.#client.delete(leases, parseKey(key), { preconditions, signal }));
    this.#caches.leases.drop(lease);
  }

  /** Asks the server: a node that was not asked may have made the object again while it was taken away. */
  async lookFor(place: SlicePlace, signal: AbortSignal): Promise<void> {
    const there = await this.#get(keyOfPlace(place), signal);
    if (there !== undefined) this.#put(there);
  }

  async #make(place: SlicePlace, key: ObjectKey, signal: AbortSignal): Promise<void> {
    const metadata = { namespace: place.namespace, name: sliceName(place), ...sliceMarks(place) };
    const spec = { range: `${place.block}`, allocations: {} };
    const made = await unless(["already-exists"], this.#client.create(ipPools, { metadata, spec }, { signal }));
    if (made !== undefined) return this.#put(made);
    const there = await this.#get(key, signal);
    if (there === undefined) throw new StaleError(`The IPPool ${key} came and went: it is looked at again.`);
    await this.#takeOver(there, place, signal);
  }

  /** An object that whereabouts made becomes the slice; its entries stay, for the node to read. */
  async #takeOver(there: StoredPool, place: SlicePlace, signal: AbortSignal): Promise<void> {
    const { resourceVersion, labels } = there.metadata;
    if (labels?.[sliceLabelName] !== undefined && readSlice(trimSlice(there)) !== undefined) {
      this.#put(there);
      throw new StaleError(`The slice ${keyOf(there)} was made meanwhile: it is looked at again.`);
    }
    if (`${prefixOf(there.spec.range)}` !== `${place.block}`) {
      const what = `The IPPool ${keyOf(there)} has the range ${there.spec.range}`;
      const clash = `the slice ${place.block} of node ${place.node} would have its name`;
      const remedy = "Give the network another network_name, or remove the pool (docs/objects.md, Removing a pool)";
      throw new StaleError(`${what}, and ${clash}. ${remedy}.`);
    }
    const body = { metadata: { resourceVersion, ...sliceMarks(place) } };
    this.#put(await this.#client.patch(ipPools, parseKey(keyOf(there)), { type: "merge", body }, { signal }));
  }

  /** Guarded by the version if the word counts (pieces, generation, a serial that answers it), else by the grant: words
   * change every second. */
  async #change(known: DeepReadonly<StoredPool>, grant: SliceGrant, signal: AbortSignal): Promise<void> {
    const before = readSlice(known)?.grant;
    const text = writeGrant(grant);
    const { resourceVersion, annotations = {} } = known.metadata;
    const path = pointer("metadata", "annotations", grantAnnotation);
    const groundOf = ({ generation, without, lend }: SliceGrant) => JSON.stringify([generation, without, lend]);
    const isNext = before !== undefined && grant.serial === before.serial + 1;
    const isFree = isNext && groundOf(before) === groundOf(grant);
    const test = { op: "test", path, value: annotations[grantAnnotation] } as const;
    const operations = [test, { op: "replace", path, value: text } as const];
    const body = { metadata: { resourceVersion, annotations: { [grantAnnotation]: text } } };
    const patch = isFree ? ({ type: "json", operations } as const) : ({ type: "merge", body } as const);
    try {
      this.#put(await this.#client.patch(ipPools, parseKey(keyOf(known)), patch, { signal }));
    } catch (error) {
      // A test that fails is answered as invalid.
      if (!isApiError(error, "invalid", "conflict", "not-found")) throw error;
      await this.#reread(keyOf(known), signal);
      throw new StaleError(`The slice ${keyOf(known)} was changed meanwhile: it is looked at again.`, { cause: error });
    }
  }

  async #surely(place: SlicePlace, key: ObjectKey, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      // Whatever was not refused in so many words may have happened.
      if (!isApiError(error, "forbidden", "invalid", "unreachable") && !(error instanceof StaleError))
        this.#unsure.add(`${place.namespace}/${place.pool}`, key);
      throw error;
    }
  }

  /** With its entries, and only as it was judged: a daemon that has written meanwhile lives. */
  async #getAgain(key: ObjectKey, signal: AbortSignal): Promise<StoredPool | undefined> {
    const known = this.#caches.slices.get(key);
    const there = await this.#get(key, signal);
    const isSame = there?.metadata.resourceVersion === known?.metadata.resourceVersion;
    if (known === undefined || there === undefined || isSame) return there;
    this.#put(there);
    throw new StaleError(`The slice ${key} was changed meanwhile: it is looked at again.`);
  }

  /** Brings the cache to what the server has. */
  async #reread(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const known = this.#caches.slices.get(key);
    const there = await this.#get(key, signal);
    if (there !== undefined) this.#put(there);
    else if (known !== undefined) this.#caches.slices.drop(known);
  }

  #get(key: ObjectKey, signal: AbortSignal): Promise<StoredPool | undefined> {
    return this.#client.lookUp(ipPools, parseKey(key), { signal });
  }

  /** Only slices are kept. */
  #put(object: StoredPool): void {
    if (object.metadata.labels?.[sliceLabelName] !== undefined) this.#caches.slices.put(trimSlice(object));
  }
}

function keyOfPlace(place: SlicePlace): ObjectKey {
  return `${place.namespace}/${sliceName(place)}`;
}

/** Its node has given up, or moved, all holds in it. */
function isSealed(object: DeepReadonly<StoredPool> | undefined): boolean {
  const { word, grant } = (object && readSlice(object)) ?? {};
  return word?.sealed === true && word.generation === (grant?.generation ?? word.generation);
}
