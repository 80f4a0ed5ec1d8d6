// Whether every account of who has which address says the same: the answers to the callers, the nodes' journals on
// their disks, and the mirrors in the API server's objects. And no address is twice in any of them.
//
// On purpose without the code that is measured. Pure.

export interface Held {
  readonly node: string;
  readonly network: string;
  readonly address: string;
  /** namespace/name of the pod and the interface: `bench/a net1`. */
  readonly owner: string;
}

export interface Accounts {
  readonly answers: readonly Held[];
  readonly journals: readonly Held[];
  readonly mirrors: readonly Held[];
}

/** Sentences; empty is right. */
export function audit({ answers, journals, mirrors }: Accounts): string[] {
  const answered = indexed("answers", answers);
  const journalled = indexed("journals", journals);
  const mirrored = indexed("mirrors", mirrors);
  return [
    ...answered.twice,
    ...journalled.twice,
    ...mirrored.twice,
    ...missing("answered", answered.byAddress, "the journals", journalled.byAddress),
    ...missing("in a journal", journalled.byAddress, "the answers", answered.byAddress),
    ...missing("in a journal", journalled.byAddress, "the mirrors", mirrored.byAddress),
    ...missing("mirrored", mirrored.byAddress, "the journals", journalled.byAddress),
  ];
}

/** A benchmark of something wrong is worth nothing: it ends here. */
export function assertAudited(what: string, accounts: Accounts): void {
  const wrong = audit(accounts);
  if (wrong.length > 0) {
    throw new Error(`${what}: ${wrong.length} accounts are wrong: ${wrong.slice(0, 5).join("; ")}`);
  }
}

/** Key: network and address. */
type ByAddress = ReadonlyMap<string, Held>;

function indexed(account: string, all: readonly Held[]): { byAddress: ByAddress; twice: string[] } {
  const byAddress = new Map<string, Held>();
  const twice: string[] = [];
  for (const each of all) {
    const key = `${each.network} ${each.address}`;
    const other = byAddress.get(key);
    if (other !== undefined) twice.push(`${key} is in the ${account} twice: for ${who(other)} and for ${who(each)}`);
    byAddress.set(key, each);
  }
  return { byAddress, twice };
}

function missing(how: string, these: ByAddress, account: string, those: ByAddress): string[] {
  return Array.from(these).flatMap(([key, held]) => {
    const other = those.get(key);
    if (other?.owner === held.owner && other.node === held.node) return [];
    const instead = other === undefined ? "do not have it" : `have ${who(other)}`;
    return [`${key} is ${how} for ${who(held)}, and ${account} ${instead}`];
  });
}

function who({ owner, node }: Held): string {
  return `${owner} on ${node}`;
}
