// Gives back the holds of one sandbox: the ledger first, then this daemon's memory of it. Promised: only a hold with
// the sandbox's container id is freed, or one of an older system without any, at the version that was read; a hold with
// a keeper is parked. When `release` resolves, everything is done; an uncertain outcome throws, and the caller keeps
// the intent. A late answer, when the address is held again, changes nothing of what is known of the newer hold.
import { isSliceDomain } from "../../api/pools/domain.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { Attachment } from "../../cni/attachments.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { type OwnerKey, ownerKey } from "../../ipam/owner.ts";
import type { SharedSourceParts } from "../add/shared-source.ts";
import { restless, surely } from "../claims/hold/amend-retry.ts";
import { attachmentOf, placeKey, placeOf } from "../holds/hold-index.ts";
import type { SlicedPools } from "../pools/sliced-pools.ts";
import type { SliceFacade } from "../slices/slice-facade.ts";
import type { Intent } from "./intents.ts";

export interface ReleasesOptions extends Pick<SharedSourceParts, "ledgers" | "held" | "poolResolver"> {
  readonly findLegacy: (intent: Intent, signal: AbortSignal) => Promise<RecordedHold[]>;
  readonly sliced: Pick<SliceFacade, "ofAttachment">;
  readonly slicedPools: Pick<SlicedPools, "released">;
}

/** A hold whose marks change meanwhile (by the leader, a finalizer) is read again; never five times in a row. */
const triesMax = 5;

export interface FreeOptions {
  readonly attachment: Attachment;
  readonly cooldownMs: number;
  readonly signal: AbortSignal;
  /** Who may have it back before its rest is over. Default: its owner. */
  readonly lastOwner?: OwnerKey;
}

export type Releases = ReturnType<typeof releasesOf>;

export function releasesOf({ findLegacy, held, ledgers, poolResolver, sliced, slicedPools }: ReleasesOptions) {
  async function unknown(
    { containerId, interfaceName }: Intent,
    target: Intent["targets"][number],
    signal: AbortSignal,
  ) {
    const { namespace, domain, owner } = target;
    const holds = await ledgers.of(namespace, domain).find(domain, ownerKey(owner), { signal });
    // Never written: the request's mark in the picture goes.
    if (holds.length === 0) poolResolver.find(namespace, domain)?.unmark(owner);
    return holds.filter((hold) => isOf(hold, { containerId, interfaceName })).map((hold) => ({ namespace, hold }));
  }

  /** Nothing newer is known at its place: another version was taken while the answer was under way. */
  function isKnown(namespace: string, { domain, address, version }: Hold, released: string): boolean {
    const known = held.get({ namespace, domain, address })?.hold.version;
    return known === undefined || known === version || known === released;
  }

  function forget(namespace: string, hold: Hold, cooldownMs: number, lastOwner?: OwnerKey): void {
    const { domain, address } = hold;
    if (isSliceDomain(domain)) return slicedPools.released(hold, cooldownMs, lastOwner);
    held.delete({ namespace, domain, address });
    poolResolver.released(namespace, hold, cooldownMs, lastOwner);
  }

  /** Another owner or a later sandbox has it: this node forgets it only where another node wrote it. */
  function lost(namespace: string, hold: Hold, now: Hold): void {
    const { domain, address } = hold;
    if (held.get({ namespace, domain, address })?.hold.version !== hold.version) return;
    held.delete({ namespace, domain, address });
    poolResolver.find(namespace, domain)?.released(address, hold.owner, 0);
    poolResolver.find(namespace, domain)?.met(now);
  }

  /** Frees one hold of the attachment. False: it was no longer the attachment's. */
  async function free({ namespace, hold }: RecordedHold, options: FreeOptions): Promise<boolean> {
    const { attachment, cooldownMs, signal, lastOwner } = options;
    const { domain, address } = hold;
    const owner = ownerKey(hold.owner);
    const ledger = ledgers.of(namespace, domain);
    // With a keeper the hold stays with its owner's name, without a sandbox; not where the owner must not have it back.
    const park = hold.note?.keeper !== undefined && lastOwner === undefined;
    let { version } = hold;
    for (let tries = 1; ; tries++) {
      const request = { domain, address, owner, version, cooldownMs, park };
      const outcome = await surely(() => ledger.release(request, { signal }));
      if (outcome.outcome === "parked" || (outcome.outcome === "superseded" && park && isParked(outcome.hold, owner))) {
        if (isKnown(namespace, hold, version)) held.put({ namespace, hold: outcome.hold });
        return true;
      }
      if (outcome.outcome !== "superseded") {
        if (isKnown(namespace, hold, version)) forget(namespace, hold, cooldownMs, lastOwner);
        return true;
      }
      const isSame = isOf(outcome.hold, attachment) && ownerKey(outcome.hold.owner) === owner;
      if (!isSame || tries === triesMax) {
        lost(namespace, hold, outcome.hold);
        if (isSame) throw restless(hold);
        return false;
      }
      ({ version } = outcome.hold);
    }
  }

  /** How many addresses it freed or parked. */
  async function release(intent: Intent, signal: AbortSignal): Promise<number> {
    const own = [...held.ofAttachment(intent), ...sliced.ofAttachment(intent)];
    const targets = await Promise.all(intent.targets.map((target) => unknown(intent, target, signal)));
    const known = new Map([...own, ...targets.flat()].map((each) => [placeKey(placeOf(each)), each]));
    const found = known.size > 0 ? [...known.values()] : await findLegacy(intent, signal);
    const { cooldownMs } = intent;
    const freed = await Promise.all(found.map((entry) => free(entry, { attachment: intent, cooldownMs, signal })));
    return freed.filter(Boolean).length;
  }

  return { release, free };
}

/** Without a container id it is of a system that kept none; the caller has matched it otherwise. */
function isOf(hold: Hold, { containerId, interfaceName }: Attachment): boolean {
  const used = attachmentOf(hold);
  if (used === undefined) return hold.owner.kind === "pod" && hold.note?.keeper === undefined;
  return used.containerId === containerId && used.interfaceName === interfaceName;
}

/** By an earlier try, whose answer was lost. */
function isParked(now: Hold, owner: OwnerKey): boolean {
  return attachmentOf(now) === undefined && ownerKey(now.owner) === owner;
}
