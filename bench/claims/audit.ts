// Whether every account of who has which address says the same: the answers to the VMs, in every phase; the holders by
// the API server's objects; the claims. On purpose without the code that is measured. Pure.
import type { SeenClaim } from "./claim-watch.ts";

/** What one ADD of a VM on the persistent network was answered. */
export interface Answer {
  readonly vm: string;
  readonly phase: string;
  readonly addresses: readonly string[];
}

/** An object that holds an address. */
export interface HeldAddress {
  readonly address: string;
  /** `pod` or `claim`. */
  readonly ownerKind: string;
  readonly ownerUid: string;
}

export interface ClaimAccounts {
  readonly answers: readonly Answer[];
  readonly held: readonly HeldAddress[];
  readonly claims: readonly SeenClaim[];
  /** The claim's name of a VM. */
  readonly claimOf: (vm: string) => string;
}

/** Sentences; empty is right. */
export function auditClaims({ answers, held, claims, claimOf }: ClaimAccounts): string[] {
  const byName = new Map(claims.map((claim) => [claim.name, claim]));
  const byAddress = Map.groupBy(held, ({ address }) => address);
  const wrong: string[] = [];
  for (const [address, holds] of byAddress) {
    if (holds.length > 1) wrong.push(`${address} has ${holds.length} holds`);
  }
  const { addressOf, problems } = settled(answers);
  wrong.push(...problems);
  for (const [vm, address] of addressOf) {
    const claim = byName.get(claimOf(vm));
    const hold = byAddress.get(address)?.[0];
    if (claim === undefined) wrong.push(`${address} was given to ${vm}, whose claim ${claimOf(vm)} is not there`);
    else if (hold?.ownerKind !== "claim" || hold.ownerUid !== claim.uid) {
      const holder = hold === undefined ? "nobody" : `${hold.ownerKind} ${hold.ownerUid}`;
      wrong.push(`${address} was given to ${vm}, and is held by ${holder}, not by claim ${claim.name} (${claim.uid})`);
    }
  }
  wrong.push(...statusProblems(claims, held));
  return wrong;
}

/** A benchmark of something wrong is worth nothing: it ends here. */
export function assertClaimsAudited(accounts: ClaimAccounts): void {
  const wrong = auditClaims(accounts);
  if (wrong.length > 0) throw new Error(`${wrong.length} accounts are wrong: ${wrong.slice(0, 5).join("; ")}`);
}

/** One address for each VM, over all phases; and none of two. */
function settled(answers: readonly Answer[]) {
  const addressOf = new Map<string, string>();
  const vmOf = new Map<string, string>();
  const problems: string[] = [];
  for (const { vm, phase, addresses } of answers) {
    const [address, ...more] = addresses;
    if (address === undefined || more.length > 0) {
      problems.push(`${vm} was answered ${addresses.length} addresses in ${phase}`);
      continue;
    }
    const before = addressOf.get(vm) ?? address;
    if (before !== address) problems.push(`${vm} had ${before}, and was answered ${address} in ${phase}`);
    const other = vmOf.get(address) ?? vm;
    if (other !== vm) problems.push(`${address} was given to ${other} and to ${vm}`);
    addressOf.set(vm, before);
    vmOf.set(address, other);
  }
  return { addressOf, problems };
}

/** What a claim says that it has, its UID must hold. */
function statusProblems(claims: readonly SeenClaim[], held: readonly HeldAddress[]): string[] {
  const holderOf = new Map(held.map(({ address, ownerKind, ownerUid }) => [address, `${ownerKind}:${ownerUid}`]));
  return claims.flatMap(({ name, uid, addresses }) =>
    addresses
      .filter((address) => holderOf.get(address) !== `claim:${uid}`)
      .map((address) => `claim ${name} says ${address}, which ${holderOf.get(address) ?? "nobody"} holds`),
  );
}
