// The IPPool object of a range: found under any of its names, or created. Promised: it is the pool that was meant
// (src/api/pools/pool-identity.ts), or a refusal. Many may ask at once: one creates, the others find. A namesake under
// another scheme's name is passed over as another's; under the name to write it is refused.
import { ObjectError as BadObject } from "../api/error.ts";
import { domainAnnotation } from "../api/holds/hold-marks.ts";
import { parseObject } from "../api/kind.ts";
import { type IPPool, ipPoolKind, type PoolAllocation } from "../api/pools/ip-pool.ts";
import { isAdopted, markedDomain } from "../api/pools/pool-domain.ts";
import { assertPoolIs, identityAnnotations } from "../api/pools/pool-identity.ts";
import { type PoolIdentity, poolName, poolNamesToRead, type PoolNaming } from "../api/pools/pool-name.ts";
import { type Domain, LedgerError } from "../ipam/ledger.ts";
import { type JsonPatchOperation, pointer } from "../kube/patch.ts";
import type { KubeClient } from "../kube/rest.ts";
import { anew, unless } from "../kube/unless.ts";
import type { Cidr } from "../net/prefix.ts";
import { ipPools } from "./resources.ts";

export interface PoolObject {
  readonly namespace: string;
  readonly name: string;
  /** Every entry has its hold: addresses may be handed out of it. */
  readonly adopted: boolean;
  /** The domain that it was first used in; undefined: that is still open. */
  readonly domain: Domain | undefined;
  readonly object: IPPool;
  /** The same pool under its other names, where earlier versions left it: their entries count as held too. */
  readonly others: readonly IPPool[];
}

export interface EnsurePoolOptions {
  readonly namespace: string;
  readonly identity: PoolIdentity;
  readonly naming?: PoolNaming;
  /** The range as the configuration has it: early versions named the pool by it, host bits and all. */
  readonly written?: Cidr;
  /** `enable_l3`, for a pool that is created. */
  readonly l3?: boolean;
  /** For a pool that is created: the domain that it will be handed out in. Absent: left open, for who adopts it. */
  readonly domain?: Domain | undefined;
  readonly signal?: AbortSignal;
}

/** Created and deleted again between our calls three times in a row: somebody works against us, and should be seen. */
const triesMax = 3;

export async function ensurePool(client: KubeClient, options: EnsurePoolOptions): Promise<PoolObject> {
  const { namespace, identity, naming = "whereabouts", signal } = options;
  const wanted = poolName(identity, naming);
  return anew(triesMax, ["already-exists"], async (isFirst) => {
    // Another was faster: it is read, and asked whether it is the one that was meant.
    const rival = isFirst ? undefined : await readPool(client, { namespace, name: wanted, signal });
    if (rival !== undefined) assertPoolIs(rival, identity);
    const [first, ...others] = await findPools(client, options);
    if (first !== undefined) return poolObject(first, others);
    const made = await client.create(ipPools, newPool(wanted, options), { signal });
    return poolObject(parseObject(ipPoolKind, made), []);
  });
}

export interface SettledPool extends PoolObject {
  readonly domain: Domain;
}

/** As ensurePool, with its domain on record: the one that is there, else that which is `wanted` under its name. */
export async function settlePool(
  client: KubeClient,
  { wanted, ...options }: Omit<EnsurePoolOptions, "domain"> & { readonly wanted: (name: string) => Domain },
): Promise<SettledPool> {
  const { namespace, identity, naming, signal } = options;
  const first = wanted(poolName(identity, naming));
  for (let tries = 1; tries <= triesMax; tries++) {
    const pool = await ensurePool(client, { ...options, domain: first });
    const { name, domain, object, others } = pool;
    if (domain !== undefined) return { ...pool, domain };
    // Of the same pool under another name, what that says.
    const said = others.map(markedDomain).find((each) => each !== undefined) ?? wanted(name);
    const body = {
      metadata: { resourceVersion: object.metadata.resourceVersion, annotations: { [domainAnnotation]: said } },
    };
    const patch = client.patch(ipPools, { namespace, name }, { type: "merge", body }, { signal });
    if ((await unless(["conflict", "not-found"], patch)) !== undefined) return { ...pool, domain: said };
  }
  const what = `IPPool ${namespace}/${poolName(identity, naming)} changed ${triesMax} times while its domain was being recorded`;
  throw new LedgerError("unavailable", `${what}. It is tried again.`);
}

/** Every object that is this pool, the one under the name to write first. */
async function findPools(client: KubeClient, options: EnsurePoolOptions): Promise<IPPool[]> {
  const { namespace, identity, naming = "whereabouts", written, signal } = options;
  const names = poolNamesToRead(identity, naming, written);
  const read = await Promise.all(names.map((name) => readPool(client, { namespace, name, signal })));
  return read.filter((pool, index) => pool !== undefined && isMeant(pool, identity, index === 0)) as IPPool[];
}

function isMeant(pool: IPPool, identity: PoolIdentity, isWanted: boolean): boolean {
  try {
    assertPoolIs(pool, identity);
    return true;
  } catch (error) {
    if (isWanted || !(error instanceof BadObject)) throw error;
    return false;
  }
}

export async function readPool(
  client: KubeClient,
  { signal, ...at }: { readonly namespace: string; readonly name: string; readonly signal?: AbortSignal | undefined },
): Promise<IPPool | undefined> {
  const object = await client.lookUp(ipPools, at, { signal });
  return object && parseObject(ipPoolKind, object);
}

export function poolObject(object: IPPool, others: readonly IPPool[] = []): PoolObject {
  const { namespace = "", name = "" } = object.metadata;
  const adopted = [object, ...others].every(isAdopted);
  return { namespace, name, adopted, domain: markedDomain(object), object, others };
}

/** Tests what was found under the key, so that a patch that is late changes nothing. */
export function entryPatch(key: string, from?: PoolAllocation, to?: PoolAllocation): JsonPatchOperation[] {
  const path = pointer("spec", "allocations", key);
  const test = { op: "test", path, value: from ?? null } as const;
  return [test, to === undefined ? { op: "remove", path } : { op: "add", path, value: to }];
}

function newPool(name: string, { namespace, identity, l3, domain }: EnsurePoolOptions) {
  const annotations = { ...identityAnnotations(identity), ...(domain !== undefined && { [domainAnnotation]: domain }) };
  return {
    metadata: { namespace, name, annotations },
    spec: { range: identity.range.toString(), allocations: {}, ...(l3 === true && { enable_l3: true }) },
  };
}
