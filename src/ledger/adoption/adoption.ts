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
import { sliceLabelName } from "../../api/slices/slice-grant.ts";
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
  const work = { ...options, client, records: recordsOf(domain, options.pool.namespace) };
  let created = 0;
  for (let round = 1; round <= roundsMax; round++) {
    signal?.throwIfAborted();
    const pools = await readPools(work);
    const other = pools.find((pool) => (markedDomain(pool) ?? domain) !== domain);
    const others = pools.filter((pool) => pool !== other);
    if (other !== undefined) return { pool: poolObject(other, others), created, blocking: [], warnings: [] };
    const { resource, namespace } = work.records;
    const objects = await call(work, () => client.list(resource, { namespace, signal }));
    const plan = planAdoption(work.records, pools, objects.items);
    const { blocking, warnings } = plan;
    const create = plan.create.filter(({ owner }) => !patient || owner.uid === ""); // only our own entries name a UID
    if (create.length + plan.claim.length + plan.retire.length > 0) {
      created += await carryOut(work, { ...plan, create });
      continue;
    }
    const waitsFor = plan.create.length;
    if (waitsFor > 0) return { pool: poolObject(pools[0]!, pools.slice(1)), created, blocking, warnings, waitsFor };
    const isDone = blocking.length > 0 || pools.every(isAdopted);
    const [first, ...rest] = isDone ? pools : await mark(work, pools);
    if (first !== undefined) return { pool: poolObject(first, rest), created, blocking, warnings };
  }
  const what = `IPPool ${options.pool.namespace}/${options.pool.name} changed ${roundsMax} times while it was being adopted`;
  const remedy = "something else writes to it. Stop whereabouts, or turn coexistence on.";
  throw new LedgerError("unavailable", `${what}: ${remedy}`);
}

interface Work extends AdoptionOptions {
  readonly client: KubeClient;
  readonly records: Records;
}

/** The pool and its earlier selves, as they are now; one that is gone has no entries. */
async function readPools(work: Work): Promise<IPPool[]> {
  const { client, pool, signal } = work;
  const read = [pool.object, ...pool.others].map(({ metadata: { namespace = "", name = "" } }) =>
    call(work, () => readPool(client, { namespace, name, signal })),
  );
  const pools = (await Promise.all(read)).filter((each) => each !== undefined);
  if (pools[0]?.metadata.name === pool.name) return pools;
  throw new LedgerError("unavailable", `IPPool ${pool.namespace}/${pool.name} is gone: it was deleted. Try again.`);
}

/** How many holds were made; those that others made first are theirs. */
async function carryOut(work: Work, { create, claim, retire }: AdoptionPlan): Promise<number> {
  const { client, records, signal } = work;
  const { resource } = records;
  let created = 0;
  await inParallel(writersMax, create, async (hold) => {
    const made = call(work, () => client.create(resource, records.make(hold), { signal }));
    if ((await unless(["already-exists"], made)) !== undefined) created += 1;
  });
  await inParallel(writersMax, claim, async ({ object, hold }) => {
    const next = rewritten(object, records.make(hold));
    await unless(
      ["conflict", "not-found"],
      call(work, () => client.update(resource, next, { signal })),
    );
  });
  await inParallel(writersMax, retire, async (object) => {
    await call(work, () => removeObject(client, resource, object, signal));
  });
  return created;
}

/** Only for the state that was read. None: one of them has changed since. */
async function mark(work: Work, pools: readonly IPPool[]): Promise<IPPool[]> {
  const { client, domain, now, signal } = work;
  const annotations = { [adoptedAnnotation]: new Date(now()).toISOString(), [domainAnnotation]: domain };
  const marked: IPPool[] = [];
  for (const { metadata } of pools) {
    const { namespace = "", name = "", resourceVersion } = metadata;
    const body = { metadata: { resourceVersion, annotations } };
    const patch = () => client.patch(ipPools, { namespace, name }, { type: "merge", body }, { signal });
    const object = await unless(["conflict", "not-found"], call(work, patch));
    if (object === undefined) return [];
    marked.push(parseObject(ipPoolKind, object));
  }
  return marked;
}

function call<T>(work: Work, request: () => Promise<T>): Promise<T> {
  return patiently(request, work, work.signal);
}

/**
 * Takes back that pools are adopted: what whereabouts hands out while it is active has no hold. The leader does so
 * before it writes `coexistence: off`; daemons then look at the pool again. How many; without a namespace, of all.
 */
export async function disownPools(
  client: KubeClient,
  { namespace, signal }: { readonly namespace?: string; readonly signal?: AbortSignal },
): Promise<number> {
  const { items } = await client.list(ipPools, { namespace, labelSelector: `!${sliceLabelName}`, signal });
  const adopted = items.filter(({ metadata }) => metadata.annotations?.[adoptedAnnotation] !== undefined);
  const body = { metadata: { annotations: { [adoptedAnnotation]: null } } };
  for (const { metadata } of adopted) {
    const at = { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
    await unless(["not-found"], client.patch(ipPools, at, { type: "merge", body }, { signal }));
  }
  return adopted.length;
}
