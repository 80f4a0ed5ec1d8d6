// What becomes of the holds of a network config that is being deleted. Pure. They stay while a VM may still run with
// them; a VM of the same name that has come already, and one that may come (keep-addresses), finds them again; else
// they cool for the lease time. Nothing that is missing (pool, definition, VM) stands in the way of the end.
import type { NicHold } from "./nic-hold.ts";

export interface EndFacts {
  readonly own: readonly NicHold[];
  /** Of the VM that owns the config; `none`: nobody owns it. */
  readonly vm: "alive" | "leaving" | "gone" | "none";
  /** A VMI of that VM is there: its guest may run. */
  readonly isRunning: boolean;
  /** MACs, as `DOMAIN MAC`, of a VM of the same name that was made since. */
  readonly heirs: ReadonlySet<string>;
  /** keep-addresses; 0: they are not kept. */
  readonly keptForMs: number;
}

export type EndPlan =
  /** For the VMI to go. */
  | { readonly kind: "wait" }
  | {
      readonly kind: "end";
      readonly releases: readonly NicHold[];
      /** Noted as kept. */
      readonly keeps: readonly NicHold[];
      /** Somebody deleted it by hand: noted on the VM, so that it is not made again. */
      readonly isDeclined: boolean;
    };

export function planEnd({ own, vm, isRunning, heirs, keptForMs }: EndFacts): EndPlan {
  const isOfVm = vm === "leaving" || vm === "gone";
  if (isOfVm && isRunning) return { kind: "wait" };
  const inherited = (hold: NicHold) => vm === "gone" && heirs.has(`${hold.domain} ${hold.owner.nic}`);
  const rest = own.filter((hold) => !inherited(hold));
  const isKept = isOfVm && keptForMs > 0;
  return { kind: "end", releases: isKept ? [] : rest, keeps: isKept ? rest : [], isDeclined: vm === "alive" };
}
