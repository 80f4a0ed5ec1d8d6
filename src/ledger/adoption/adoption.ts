// Taking over a pool that whereabouts filled: a hold for every entry, old IPv6 names under today's, our marks on all.
// Then the IPPool carries `holdfast.io/adopted` and `holdfast.io/domain`, and may hand out. Promised: idempotent,
// resumable at any point, safe for any number of daemons and the leader at once: every round plans anew from the
// present state, each write is a create or guarded, and the mark is written only for the very state of the pool whose
// plan was empty. No mark while whereabouts is active, or an entry can mean too many addresses. Not promised: which
// owner keeps an address that two claim; `warnings` says so.
import { adoptedAnnotation, domainAnnotation } from "../../api/holds/hold-marks.ts";
import { parseObject } from "../../api/kind.ts";
import { type IPPool, ipPoolKind } from "../../api/pools/ip-pool.ts";
import { isAdopted, markedDomain } from "../../api/pools/pool-domain.ts";
import { poolObject, type PoolObject, readPool } from "../../cluster/pool-object.ts";
import { ipPools } from "../../cluster/resources.ts";
import { type Domain, LedgerError } from "../../ipam/ledger.ts";
import { inParallel } from "../../kube/in-parallel.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import { removeObject } from "../reservation/guarded-delete.ts";
import { type Records, recordsOf, rewritten } from "../reservation/records.ts";
import { patiently, type Waiting } from "../reservation/retry-after.ts";
import { type AdoptionPlan, planAdoption } from "./adoption-plan.ts";

export interface AdoptionOptions extends Waiting {
  readonly pool: PoolObject;
  /** Where the pool's addresses are unique: decides which kind of object a hold is. */
  readonly domain: Domain;
  /** Where those objects are. Default: the pool's namespace. */
  readonly namespace?: string;
  /** The wall clock, for the time in the mark. */
  readonly now: () => number;
  /** whereabouts is active: its entries arbitrate, come and go, and nothing is made of them. Nothing is done. */
  readonly coexistence?: boolean;
  /** An entry of our own may be older than its release: the pool is left as it is. For who comes back without this. */
  readonly patient?: boolean;
  readonly signal?: AbortSignal;
}

export interface Adoption {
  /** As it is now. Of another `domain` than asked for: others were faster, and it is not handed out in that one. */
  readonly pool: PoolObject;
  readonly created: number;
  /** Entries of our own without a hold, for which patience is asked. */
  readonly waitsFor?: number;
  /** Sentences: entries that keep the pool from being adopted. */
  readonly blocking: readonly string[];
  /** Sentences: keys that mean no address of the pool, and addresses that two owners claim. */
  readonly warnings: readonly string[];
}

/** One round for the entries, one to see that nothing is left; each further one means that others wrote meanwhile. */
const roundsMax = 20;
/** At once: the API server takes some 700 writes a second, and 16 writers reach that. */
const writersMax = 16;

export async function adoptPool(client: KubeClient, options: AdoptionOptions): Promise<Adoption> {
  const { coexistence = false, patient = false, domain, signal } = options;
  if (coexistence) return { pool: options.pool, created: 0, blocking: [], warnings: [] };
  const work = new Work({ ...options, client });
  let created = 0;
  for (let round = 1; round <= roundsMax; round++) {
    signal?.throwIfAborted();
    const pools = await work.readPools();
    const other = pools.find((pool) => (markedDomain(pool) ?? domain) !== domain);
    const others = pools.filter((pool) => pool !== other);
    if (other !== undefined) return { pool: poolObject(other, others), created, blocking: [], warnings: [] };
    const plan = planAdoption(work.records, pools, await work.readObjects());
    const { blocking, warnings } = plan;
    const create = plan.create.filter(({ owner }) => !patient || owner.uid === ""); // only our own entries name a UID
    if (create.length + plan.claim.length + plan.retire.length > 0) {
      created += await work.carryOut({ ...plan, create });
      continue;
    }
    const waitsFor = plan.create.length;
    if (waitsFor > 0) return { pool: poolObject(pools[0]!, pools.slice(1)), created, blocking, warnings, waitsFor };
    const isDone = blocking.length > 0 || pools.every(isAdopted);
    const [first, ...rest] = isDone ? pools : await work.mark(pools);
    if (first !== undefined) return { pool: poolObject(first, rest), created, blocking, warnings };
  }
  const what = `IPPool ${options.pool.namespace}/${options.pool.name} changed ${roundsMax} times while it was being adopted`;
  const remedy = "something else writes to it. Stop whereabouts, or turn coexistence on.";
  throw new LedgerError("unavailable", `${what}: ${remedy}`);
}

class Work {
  readonly records: Records;
  readonly #options: AdoptionOptions & { readonly client: KubeClient };

  constructor(options: AdoptionOptions & { readonly client: KubeClient }) {
    const { domain, pool, namespace = pool.namespace } = options;
    this.records = recordsOf(domain, namespace);
    this.#options = options;
  }

  /** The pool and its earlier selves, as they are now; one that is gone has no entries. */
  async readPools(): Promise<IPPool[]> {
    const { pool, signal } = this.#options;
    const read = [pool.object, ...pool.others].map(({ metadata: { namespace = "", name = "" } }) =>
      this.#call(() => readPool(this.#options.client, { namespace, name, signal })),
    );
    const pools = (await Promise.all(read)).filter((each) => each !== undefined);
    if (pools[0]?.metadata.name === pool.name) return pools;
    throw new LedgerError("unavailable", `IPPool ${pool.namespace}/${pool.name} is gone: it was deleted. Try again.`);
  }

  async readObjects() {
    const { resource, namespace } = this.records;
    const { signal } = this.#options;
    return (await this.#call(() => this.#options.client.list(resource, { namespace, signal }))).items;
  }

  /** How many holds were made; those that others made first are theirs. */
  async carryOut({ create, claim, retire }: AdoptionPlan): Promise<number> {
    const { resource } = this.records;
    const { signal } = this.#options;
    let created = 0;
    await inParallel(writersMax, create, async (hold) => {
      const made = this.#call(() => this.#options.client.create(resource, this.records.make(hold), { signal }));
      if ((await unless(["already-exists"], made)) !== undefined) created += 1;
    });
    await inParallel(writersMax, claim, async ({ object, hold }) => {
      const next = rewritten(object, this.records.make(hold));
      const update = this.#call(() => this.#options.client.update(resource, next, { signal }));
      await unless(["conflict", "not-found"], update);
    });
    await inParallel(writersMax, retire, async (object) => {
      await this.#call(() => removeObject(this.#options.client, resource, object, signal));
    });
    return created;
  }

  /** Only for the state that was read. None: one of them has changed since. */
  async mark(pools: readonly IPPool[]): Promise<IPPool[]> {
    const { domain, now, signal } = this.#options;
    const annotations = { [adoptedAnnotation]: new Date(now()).toISOString(), [domainAnnotation]: domain };
    const marked: IPPool[] = [];
    for (const { metadata } of pools) {
      const { namespace = "", name = "", resourceVersion } = metadata;
      const body = { metadata: { resourceVersion, annotations } };
      const patch = () => this.#options.client.patch(ipPools, { namespace, name }, { type: "merge", body }, { signal });
      const object = await unless(["conflict", "not-found"], this.#call(patch));
      if (object === undefined) return [];
      marked.push(parseObject(ipPoolKind, object));
    }
    return marked;
  }

  #call<T>(call: () => Promise<T>): Promise<T> {
    return patiently(call, this.#options, this.#options.signal);
  }
}
