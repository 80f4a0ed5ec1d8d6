// Is an address in use on the pod's network already, by somebody that no ledger knows? Asked on the wire, from the pod's place.
//
// Promised: whoever answers for the address in time is named by its MAC; the process's own namespace is not left by any
// thread but the one that probes, and that comes back at once. Not promised: that nobody has it. A host that is off, slow,
// behind a link without carrier or one that shares our MAC (ipvlan on the same parent) is not heard; a router that proxies
// ARP for everybody is heard for every address. An interface that is down is brought up, and stays up: plugins ask for the
// address before they do it themselves. One that does not exist yet (the ptp plugin) is an error, `no-interface`.
import { Prober, type ProbeAnswer, type ProbeRequest } from "./prober.ts";

/** One for the process: its thread costs nothing until the first probe, and some 10 MiB after it. */
const prober = new Prober();

export function probeDuplicate(request: ProbeRequest): Promise<ProbeAnswer> {
  return prober.probe(request);
}
