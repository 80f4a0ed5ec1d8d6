// A northbound database to which some of what is desired is not written, to see what that is good for.
import type { NorthboundZone } from "../../../../src/migration/northbound/northbound-writer.ts";
import type { Northbound } from "../../../../src/ovn/northbound.ts";
import type { Wanted } from "../../../../src/ovn/rows/wanted.ts";

/** `without`: parts as scenarios name them (scenarios/scenario.ts). */
export function leavingOut(northbound: Northbound, without: ReadonlySet<string>): NorthboundZone["northbound"] {
  const kept = (all: readonly Wanted[]): readonly Wanted[] =>
    all
      .filter(({ table }) => table !== "Static_MAC_Binding" || !without.has("mac-binding"))
      .map((each) => (without.has("port-groups") ? { ...each, joins: undefined } : each));
  return {
    get version() {
      return northbound.version;
    },
    vms: () => northbound.vms(),
    apply: (desired, signal) => northbound.apply({ ...desired, wanted: kept(desired.wanted) }, signal),
  };
}
