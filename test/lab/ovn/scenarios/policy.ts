// A network policy lets some speak with a VM and others not, by a port group and ACLs as OVN-Kubernetes writes them.
// The VM's port on the target is in the group from the transaction on that makes it: nobody who is kept out gets in for
// however short a time, and nobody who is let in is kept out.
import { tables } from "../../../../src/ovn/rows/tables.ts";
import { named, Operations } from "../../../../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../../../src/ovsdb/schema/ovn-northbound.ts";
import { LabClient } from "../client.ts";
import type { OvnLab } from "../lab.ts";
import { outsideAddress } from "../wiring.ts";
import { newestFirst } from "./routed.ts";
import type { Scenario } from "./scenario.ts";
import { Stage, vm1 } from "./stage.ts";

const nb = new Operations(ovnNorthbound);
const group = "a1_policy";
/** OVN-Kubernetes' own: of a default deny, and of what a policy lets in. */
const priorities = { deny: 1000, allow: 1001 } as const;

export const policy: Scenario = {
  name: "policy",
  about: "a network policy keeps a pod on every node out, before, at and after the move",
  nodes: 2,
  zones: ["one"],
  versions: newestFirst,
  async run(lab, wishes) {
    const { signal, reactionMs } = wishes;
    await using stage = await Stage.open(lab, wishes, { vms: [vm1], hasStrangers: true });
    const vm = stage.vms[0]!;
    const welcome = stage.pods.map(({ plan }) => plan.addresses[0]!.replace(/\/.*/, ""));
    await protect(lab, vm.port, [...welcome, outsideAddress, lab.wiring.outsideAddressOf(1)], signal);
    await stage.cluster.settled(signal);
    await stage.watch.begin();
    stage.watch.moved(vm, await vm.move("node2", { reactionMs, signal }));
    return await stage.watch.end();
  },
};

/** Plays whoever carries out policies: the port's group, and who may speak with it. */
async function protect(lab: OvnLab, name: string, welcome: readonly string[], signal: AbortSignal): Promise<void> {
  const client = await LabClient.open(ovnNorthbound, lab.northbound(), [tables.Logical_Switch_Port], signal);
  try {
    const [port] = client.ovsdb.rows(tables.Logical_Switch_Port).by("key", name);
    const into = `outport == @${group}`;
    const acls = [
      { priority: priorities.deny, match: into, action: "drop" },
      { priority: priorities.allow, match: `${into} && (arp || nd)`, action: "allow" },
      { priority: priorities.allow, match: `${into} && ip4.src == {${welcome.join(", ")}}`, action: "allow-related" },
    ] as const;
    await client.ovsdb.transact([
      ...acls.map((acl, at) => nb.insert("ACL", { ...acl, direction: "to-lport" }, { named: `acl${at}` })),
      nb.insert("Port_Group", { name: group, ports: [port!.uuid], acls: acls.map((_, at) => named(`acl${at}`)) }),
    ]);
  } finally {
    await client.close();
  }
}
