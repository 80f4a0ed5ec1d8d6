// Ports in OVN's northbound, one for each attached interface, written through src/ovn.
//
// Promised: when `ensure` has come back the port is there, and no other port of a pod has its addresses on that switch:
// the ledger says whose an address is, and a port that a lost node or a lost record has left is replaced. `remove`
// takes away the port of that pod, and not that of a later one of its name.
import { OvnError } from "../../ovn/error.ts";
import type { Northbound } from "../../ovn/northbound.ts";
import { podMarks } from "../../ovn/rows/marks.ts";
import { type Wanted, wanted } from "../../ovn/rows/wanted.ts";
import { later } from "../request/failure.ts";
import type { LogicalPort } from "./plan.ts";

/** Who makes and removes logical ports. */
export interface LogicalPorts {
  ensure(port: LogicalPort, signal: AbortSignal): Promise<void>;
  remove(port: Pick<LogicalPort, "name" | "podUid">, signal: AbortSignal): Promise<void>;
}

export class NorthboundPorts implements LogicalPorts {
  readonly #northbound: Pick<Northbound, "apply">;
  /** Resolves when its rows are known. */
  readonly #synced: (signal: AbortSignal) => Promise<void>;

  constructor(northbound: Pick<Northbound, "apply">, synced: (signal: AbortSignal) => Promise<void>) {
    this.#northbound = northbound;
    this.#synced = synced;
  }

  async ensure(port: LogicalPort, signal: AbortSignal): Promise<void> {
    const { switch: within, addresses } = port;
    const ports = { switch: within, addresses };
    await this.#synced(signal);
    try {
      await this.#northbound.apply(
        { wanted: rowsOf(port), vms: [], scope: { topology: false, vms: [], ports } },
        signal,
      );
    } catch (error) {
      if (!(error instanceof OvnError) || error.code !== "no-parent") throw error;
      throw later(
        `OVN has no switch ${within} yet: the controller makes it (holdfast controller with --ovn-northbound, docs/live-migration.md); ` +
          "it goes on by itself when it is there.",
        error,
      );
    }
  }

  async remove({ name, podUid }: Pick<LogicalPort, "name" | "podUid">, signal: AbortSignal): Promise<void> {
    const ports = { name, podUid };
    await this.#synced(signal);
    await this.#northbound.apply({ wanted: [], vms: [], scope: { topology: false, vms: [], ports } }, signal);
  }
}

/** A secondary network's switch has no other owner: it comes with its first port. */
function rowsOf(port: LogicalPort): Wanted[] {
  const { name, podUid, switch: within, namespace, mac, addresses, chassis, network } = port;
  const own = [[mac, ...addresses].join(" ")];
  const marks = network && {
    "k8s.ovn.org/network": network.name,
    "k8s.ovn.org/topology": network.topology,
  };
  const row = wanted(
    "Logical_Switch_Port",
    {
      name,
      type: "",
      addresses: own,
      port_security: own,
      options: { "iface-id-ver": podUid, "requested-chassis": chassis },
      external_ids: { ...podMarks(namespace), ...marks, ...(network && { "k8s.ovn.org/nad": network.definition }) },
    },
    { within },
  );
  if (network === undefined) return [row];
  const { localnet } = network;
  const rows = [wanted("Logical_Switch", { name: within, external_ids: { ...marks } }), row];
  if (localnet === undefined) return rows;
  const out = {
    name: localnet.port,
    type: "localnet",
    addresses: ["unknown"],
    options: { network_name: localnet.physical },
    tag_request: localnet.vlan,
    external_ids: { ...marks },
  };
  return [...rows, wanted("Logical_Switch_Port", out, { within })];
}
