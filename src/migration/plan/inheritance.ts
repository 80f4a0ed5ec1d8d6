// Which pods of a VM still have to be told its addresses, and how: a migration's target gets what the source has, entry
// for entry; the first pod of a VM's life gets new ones. Pure.
//
// Promised: a target never gets an address of its own. One that is handled before its source has an annotation waits.
import type { NetworkEntry } from "../../cluster/pod-network.ts";
import { compareAge, isLiving, type Launcher } from "../objects/launcher.ts";
import { networkOf } from "./placement-of.ts";
import { currentLife } from "./situation.ts";

export type AddressStep =
  | { readonly kind: "copy"; readonly to: Launcher; readonly entry: NetworkEntry; readonly sinceMs: number }
  /** It is the first of its VM's life: addresses of its node. */
  | { readonly kind: "take"; readonly to: Launcher };

export function addressSteps(pods: readonly Launcher[]): readonly AddressStep[] {
  const living = currentLife(pods).filter(isLiving).toSorted(compareAge);
  const bare = living.filter(({ network, isDeleting }) => network === undefined && !isDeleting);
  const network = networkOf(pods);
  if (network !== undefined) {
    const sinceMs = sinceOf(pods);
    return bare.map((to) => ({ kind: "copy", to, entry: network.entry, sinceMs }));
  }
  const [first] = bare;
  const isFirst = first !== undefined && first === living[0] && !first.isTarget && first.node !== "";
  return isFirst ? [{ kind: "take", to: first }] : [];
}

/** Since when the VM has its address. The oldest pod may be gone: targets carry it on. */
export function sinceOf(pods: readonly Launcher[]): number {
  return Math.min(...currentLife(pods).map(({ sinceMs }) => sinceMs));
}

/** Living pods that say something else than their VM has: somebody gave them other addresses, or another MAC. */
export function strangers(pods: readonly Launcher[]): readonly Launcher[] {
  const known = networkOf(pods);
  if (known === undefined) return [];
  const sayOf = ({ addresses, mac }: typeof known) => [mac, ...addresses.map(({ address }) => `${address}`)].join(" ");
  return currentLife(pods).filter(
    (each) => isLiving(each) && each.network !== undefined && sayOf(each.network) !== sayOf(known),
  );
}
