// Addresses of a shared range: candidates from the picture of its domain, the API server's ledger as the arbiter.
import { CniError, errorCodes } from "../../cni/error.ts";
import type { Refused } from "../../ipam/acquire.ts";
import type { Hold } from "../../ipam/ledger.ts";
import type { Refusal } from "../../ipam/request.ts";
import { assertNotPaused } from "../claims/hold/amend-retry.ts";
import type { HoldIndex } from "../holds/hold-index.ts";
import { heldKind, type History } from "../holds/server-history.ts";
import type { Ledgers } from "../pools/ledgers.ts";
import { type OpenPool, type PoolResolver, stateChanged } from "../pools/pool-resolver.ts";
import type { Share, ShareOwner } from "./shares.ts";
import type { AddressSource, OpenSource, TakeOrder } from "./take.ts";

export interface SharedSourceParts {
  readonly ledgers: Ledgers;
  readonly poolResolver: PoolResolver;
  readonly held: HoldIndex;
  readonly now: () => number;
  readonly onConflict: () => void;
  /** Hears the version of every new hold. */
  readonly history: Pick<History, "expect" | "reached">;
  readonly paused: () => string;
}

/** A renewed picture is still behind: other nodes take at the same time. Three rounds of 64 tries are minutes. */
const roundsMax = 3;
/** Refusals that a newer picture may lack. */
const passing: ReadonlySet<Refusal["code"]> = new Set(["exhausted", "held-by-another", "reserved", "cooling-down"]);

export class SharedSource implements AddressSource {
  readonly #parts: SharedSourceParts;
  readonly #order: TakeOrder;
  #round = 0;
  #startedMs = 0;

  constructor(parts: SharedSourceParts, order: TakeOrder) {
    this.#parts = parts;
    this.#order = order;
  }

  async open(): Promise<OpenSource> {
    const { share, claim, signal } = this.#order;
    const { held, history, ledgers, now, onConflict, paused, poolResolver } = this.#parts;
    const { namespace } = share;
    const open = await poolResolver.open(share, signal);
    const { pool, picture, name } = open;
    const { domain } = picture;
    const spread = picture.spreadOf(pool);
    this.#round += 1;
    this.#startedMs = now();
    spread.begin();
    const onNew = history.expect(heldKind);
    return {
      pool,
      domain,
      namespace,
      ledger: ledgers.of(namespace, domain),
      name,
      loose: name === undefined,
      // By the claim's name: two daemons that take for one claim try the same address, and one finds it the claim's.
      strategy: claim === undefined ? spread : { kind: "sticky" },
      // A pause also stops takes under way, and nothing is taken by a pool that must be adopted anew.
      mayTake: () => {
        assertNotPaused(paused());
        if (poolResolver.find(namespace, domain) !== picture) throw stateChanged();
      },
      told: (outcome, address) => {
        if (outcome.outcome === "taken") return onNew(versionOf(outcome.hold));
        if (outcome.outcome === "yours") return history.reached(heldKind, versionOf(outcome.hold));
        spread.met(address);
        onConflict();
        if (outcome.outcome === "held") picture.met(outcome.hold);
      },
      lookAgain: () => poolResolver.lookAgain(open, share, signal),
      record: (hold) => {
        // A claim's hold is no node's: other writers pass it on and free it, and a list says when.
        if (hold.owner.kind === "claim") return picture.met(hold);
        held.put({ namespace, hold });
        picture.took(hold);
      },
      failed: (isUncertain) => isUncertain && share.owner.kind === "claim" && suppose(open, share.owner),
      [Symbol.dispose]: () => spread.end(),
    };
  }

  async refused(refusal: Refused): Promise<void> {
    const { share, signal } = this.#order;
    // The ledger's own answer on the one address that was asked for needs no second look.
    const isCertain = refusal.conflicts > 0 ? share.want.kind === "given" : this.#round > 1;
    if (isCertain || this.#round === roundsMax || !passing.has(refusal.code)) throw refused(share, refusal);
    await this.#parts.poolResolver.refresh(share.namespace, this.#startedMs, signal);
  }
}

/** The server's own version; a ledger of tests has none. */
function versionOf({ version }: Hold): string | undefined {
  return version.split("@")[1];
}

/** A claim's mark of unknown outcome stands until a later list says otherwise: no release takes it away. */
function suppose({ pool, picture }: OpenPool, owner: ShareOwner): void {
  const address = pool.addressOf(owner);
  const mark = address === undefined ? undefined : pool.ownerAt(address);
  if (address !== undefined && mark !== undefined) picture.met({ address, owner: mark });
}

function refused({ want }: Share, { code, message }: Refusal): CniError {
  const isNamed = want.kind !== "given" || message.includes(String(want.address));
  return new CniError(errorCodes.refused, isNamed ? message : `${want.address}: ${message}`, { cause: code });
}
