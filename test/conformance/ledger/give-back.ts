// Giving an address back by its owner alone: the ledger first, then the picture, in the owner's turn. The counterpart
// of acquire, for whoever tries a ledger; daemons release by sandbox (src/node/release/release.ts).
// Promised: the address cools and others get it later, or, where the hold was renewed since or is another's, nothing
// changes and the picture learns who has it. A lost reply is followed by the same release again, which the ledger's
// guard makes harmless. Not promised: that the address was held at all.
import { cooldownOf } from "../../../src/ipam/definition.ts";
import {
  describeDomain,
  type Domain,
  type Hold,
  type Ledger,
  LedgerError,
  type ReleaseOutcome,
} from "../../../src/ipam/ledger.ts";
import { describeOwner, formerKey, type Owner, type OwnerKey, ownerKey } from "../../../src/ipam/owner.ts";
import type { Pool } from "../../../src/ipam/pool.ts";
import { turnsOf } from "../../../src/ipam/turns.ts";
import type { Address } from "../../../src/net/address.ts";
import { contains } from "../../../src/net/prefix.ts";

export interface Release {
  readonly ledger: Ledger;
  readonly domain: Domain;
  readonly pool: Pool;
  readonly owner: Owner;
  /** Only the hold at this version, as the caller acquired it. Leave out to release whatever the owner has. */
  readonly version?: string;
}

/** As in acquire: beyond so many lost replies in a row the ledger is away. */
const lossesMax = 5;

export async function giveBack(request: Release): Promise<ReleaseOutcome> {
  const { pool, owner } = request;
  return turnsOf(pool).run(ownerKey(owner), undefined, () => releaseNow(request));
}

async function releaseNow(request: Release): Promise<ReleaseOutcome> {
  const { pool, owner } = request;
  const known = pool.addressOf(owner);
  const found = known === undefined ? await heldBy(request) : undefined;
  const address = known ?? found?.address;
  if (address === undefined) return { outcome: "gone" };
  const result = await releaseSurely(request, address, ownerKey(found?.owner ?? owner));
  if (result.outcome === "superseded") pool.learn(address, result.hold.owner);
  else if (pool.addressOf(owner) !== undefined) pool.releaseOwner(owner);
  else if (result.outcome === "released") rest(pool, address, owner);
  return result;
}

/** Also what an older system recorded for the pod, without its UID. */
async function heldBy({ ledger, domain, pool, owner }: Release): Promise<Hold | undefined> {
  const holds = await ledger.find(domain, ownerKey(owner), { formerly: formerKey(owner) });
  return holds.find(({ address }) => contains(pool.definition.prefix, address));
}

/** The picture did not know that the owner had it, and still must not offer it to others at once. */
function rest(pool: Pool, address: Address, owner: Owner): void {
  if (pool.ownerAt(address) !== undefined) return;
  pool.take(address, owner);
  pool.releaseOwner(owner);
}

async function releaseSurely(request: Release, address: Address, key: OwnerKey): Promise<ReleaseOutcome> {
  const { ledger, domain, pool, owner, version } = request;
  const guard = { domain, address, owner: key, cooldownMs: cooldownOf(pool.definition) };
  for (let losses = 0; ;) {
    try {
      const result = await ledger.release(version === undefined ? guard : { ...guard, version });
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
