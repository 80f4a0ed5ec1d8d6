// Giving an address back: the ledger first, then the picture, in the owner's turn. The counterpart of acquire.
// Promised: the address cools and others get it later, or, where the hold was renewed since or is another's, nothing
// changes and the picture learns who has it. A lost reply is followed by the same release again, which the ledger's
// guard makes harmless. Not promised: that the address was held at all.
import type { Address } from "../net/address.ts";
import { contains } from "../net/prefix.ts";
import { cooldownOf } from "./definition.ts";
import { describeDomain, type Domain, type Hold, type Ledger, LedgerError, type ReleaseOutcome } from "./ledger.ts";
import { describeOwner, formerKey, type Owner, type OwnerKey, ownerKey } from "./owner.ts";
import type { Pool } from "./pool.ts";
import { turnsOf } from "./turns.ts";

export interface Release {
  readonly ledger: Ledger;
  readonly domain: Domain;
  readonly pool: Pool;
  readonly owner: Owner;
  /** Only the hold at this version, as the caller acquired it. Leave out to release whatever the owner has. */
  readonly version?: string;
  readonly signal?: AbortSignal;
  /** Ask the ledger what the owner holds where the picture does not know. Default: yes, it costs a read only then. */
  readonly look?: boolean;
}

/** As in acquire: beyond so many lost replies in a row the ledger is away. */
const lossesMax = 5;

export async function release(request: Release): Promise<ReleaseOutcome> {
  const { pool, owner, signal } = request;
  return turnsOf(pool).run(ownerKey(owner), signal, () => releaseNow(request));
}

async function releaseNow(request: Release): Promise<ReleaseOutcome> {
  const { pool, owner, look = true } = request;
  const known = pool.addressOf(owner);
  const found = known === undefined && look ? await heldBy(request) : undefined;
  const address = known ?? found?.address;
  if (address === undefined) return { outcome: "gone" };
  const result = await releaseSurely(request, address, ownerKey(found?.owner ?? owner));
  if (result.outcome === "superseded") pool.learn(address, result.hold.owner);
  else if (pool.addressOf(owner) !== undefined) pool.releaseOwner(owner);
  else if (result.outcome === "released") rest(pool, address, owner);
  return result;
}

/** Also what an older system recorded for the pod, without its UID. */
async function heldBy({ ledger, domain, pool, owner, signal }: Release): Promise<Hold | undefined> {
  const holds = await ledger.find(domain, ownerKey(owner), { formerly: formerKey(owner), ...(signal && { signal }) });
  return holds.find(({ address }) => contains(pool.definition.prefix, address));
}

/** The picture did not know that the owner had it, and still must not offer it to others at once. */
function rest(pool: Pool, address: Address, owner: Owner): void {
  if (pool.ownerAt(address) !== undefined) return;
  pool.take(address, owner);
  pool.releaseOwner(owner);
}

async function releaseSurely(request: Release, address: Address, key: OwnerKey): Promise<ReleaseOutcome> {
  const { ledger, domain, pool, owner, version, signal } = request;
  const guard = { domain, address, owner: key, cooldownMs: cooldownOf(pool.definition) };
  for (let losses = 0; ;) {
    try {
      const result = await ledger.release(
        version === undefined ? guard : { ...guard, version },
        signal === undefined ? {} : { signal },
      );
      // The lost reply was this one's: the hold is gone because it was released.
      return result.outcome === "gone" && losses > 0 ? { outcome: "released" } : result;
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      losses += 1;
      if (error.code === "outcome-unknown" && losses < lossesMax) continue;
      throw new LedgerError(
        error.code,
        `${describeOwner(owner)} still has ${address} in ${describeDomain(domain)}, as far as is known: ${error.message}`,
        {
          cause: error,
        },
      );
    }
  }
}
