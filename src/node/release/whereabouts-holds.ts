// Addresses that whereabouts gave to a sandbox: its pool's entry has the container id, its reservation object does not.
// Looked for only where this daemon knows nothing of the sandbox, since it reads whole pools.
import { readAllocations } from "../../api/pools/allocations.ts";
import { type PoolNaming, poolNamesToRead } from "../../api/pools/pool-name.ts";
import { readPool } from "../../cluster/pool-object.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { Attachment } from "../../cni/attachments.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { type Owner, ownerKey } from "../../ipam/owner.ts";
import { releaseTheirs } from "../../ledger/coexistence/beside.ts";
import { recordsOf } from "../../ledger/reservation/records.ts";
import { equal } from "../../net/address.ts";
import { parseCidr } from "../../net/prefix.ts";
import type { SharedSourceParts } from "../add/shared-source.ts";
import { attachmentOf } from "../holds/hold-index.ts";
import type { PoolResolverOptions } from "../pools/pool-resolver.ts";
import type { Intent, IntentPool } from "./intents.ts";

interface LegacyOptions
  extends Pick<SharedSourceParts, "ledgers" | "poolResolver">, Pick<PoolResolverOptions, "client" | "coexistence"> {
  /** Where whereabouts keeps its pools, as known now: a DEL may have come before the state did. */
  readonly poolNamespace: () => string;
}

export async function findLegacy(options: LegacyOptions, intent: Intent, signal: AbortSignal): Promise<RecordedHold[]> {
  const namespace = options.poolNamespace();
  const found = await Promise.all(intent.pools.map((pool) => inPool(options, intent, { ...pool, namespace }, signal)));
  return found.flat();
}

async function inPool(
  { client, ledgers, poolResolver, coexistence }: LegacyOptions,
  attachment: Attachment,
  pool: IntentPool,
  signal: AbortSignal,
): Promise<RecordedHold[]> {
  const { containerId } = attachment;
  const { namespace, network, protectsOverlaps } = pool;
  const identity = { range: parseCidr(pool.range).prefix, network, node: "" };
  const naming = pool.naming as PoolNaming;
  const names = poolNamesToRead(identity, naming);
  const objects = await Promise.all(names.map((name) => readPool(client, { namespace, name, signal })));
  const entries = objects.flatMap((object, index) => {
    const read = object === undefined ? [] : readAllocations(object).entries;
    return read.map((entry) => ({ ...entry, pool: `${namespace}/${names[index]}` }));
  });
  const own = entries.filter(({ owner }) => isOf(owner, attachment));
  if (own.length === 0) return [];
  // Adopted: every entry has its hold now, and the hold is released. Not so while whereabouts is active.
  // Whose definition it was is not known any more. Beside whereabouts nothing is marked.
  const use = { namespace, identity, naming, l3: false, protectsOverlaps, mayStandAlone: coexistence() };
  const { domain } = await poolResolver.placeOf(use, signal);
  const ledger = ledgers.of(namespace, domain);
  const holds = await Promise.all(own.map(({ owner }) => ledger.find(domain, ownerKey(owner), { signal })));
  const found = own.map(({ address }, index) => holds[index]!.filter((hold) => equal(hold.address, address)));
  if (coexistence()) {
    const records = recordsOf(domain, namespace);
    for (const [index, { address, owner, pool: at }] of own.entries()) {
      if (found[index]!.length === 0) await releaseTheirs(client, records, { address, owner, pool: at }, signal);
    }
  }
  // A hold that another sandbox uses is not the entry's any more: the mirror is behind.
  const isOwn = ({ owner }: Hold) => (attachmentOf({ owner })?.containerId ?? containerId) === containerId;
  return found.flat().flatMap((hold) => (isOwn(hold) ? [{ namespace, hold }] : []));
}

/** Old entries have no interface. */
function isOf(owner: Owner, { containerId, interfaceName }: Attachment): boolean {
  if (owner.kind !== "pod" || owner.containerId !== containerId) return false;
  return owner.interface === "" || owner.interface === interfaceName;
}
