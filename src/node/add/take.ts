// One share of an ADD: open its source, take an address, and let the source look again before a refusal is believed.
import { type Acquired, acquire, type Acquisition, type Refused } from "../../ipam/acquire.ts";
import {
  type AddressSource,
  failedTake,
  type OpenSource,
  type TakeOrder,
  type Taken,
  UncertainTake,
} from "./address-source.ts";
import { whyOf } from "./hold-note.ts";

export interface TakeParts {
  readonly sourceOf: (order: TakeOrder) => AddressSource;
  readonly random: () => number;
}

/** Throws CniError (101: none can be had; 11: later perhaps), LedgerError where the ledger is away, UncertainTake. */
export async function take({ sourceOf, random }: TakeParts, order: TakeOrder): Promise<Taken> {
  const { share } = order;
  const source = sourceOf(order);
  const kept = await source.kept?.();
  if (kept !== undefined) return kept;
  for (let { lookFirst } = order; ; lookFirst = false) {
    using open = await source.open();
    if (open === undefined) {
      await source.refused(undefined);
      continue;
    }
    const { namespace, domain } = open;
    let result: Acquired | Refused;
    let isAsked = false;
    const mayTake = () => {
      open.mayTake();
      isAsked = true;
    };
    try {
      result = await acquire({ ...acquisitionOf(order, open), random, lookFirst, mayTake });
    } catch (error) {
      // Before the first write nothing is uncertain.
      const failure = isAsked ? failedTake(order, { namespace, domain, owner: share.owner }, error) : error;
      open.failed(failure instanceof UncertainTake);
      throw failure;
    }
    if (result.kind === "acquired") {
      const { hold, isNew, early } = result;
      open.record(hold);
      return { share, namespace, hold, isNew, early };
    }
    await source.refused(result);
  }
}

function acquisitionOf(order: TakeOrder, open: OpenSource): Omit<Acquisition, "random"> {
  const { share, network, keeper, claim, signal } = order;
  const { owner, want } = share;
  const { pool, domain, ledger, name, loose, strategy, lookAgain } = open;
  return {
    ledger,
    domain,
    pool,
    request: { owner, want, ...(strategy && { strategy }) },
    signal,
    terms: { early: want.kind === "given", loose, ...(claim !== undefined && { users: [claim.user] }) },
    note: (grant, candidate) => ({
      ...(name !== undefined && { pool: name }),
      ...(keeper !== undefined && { keeper }),
      ...(claim?.identity !== undefined && { identity: claim.identity }),
      ...(claim?.mac !== undefined && { mac: claim.mac }),
      why: whyOf(network, grant, candidate),
    }),
    onOutcome: (outcome, address) => open.told(outcome, address),
    ...(lookAgain && { lookAgain }),
  };
}
