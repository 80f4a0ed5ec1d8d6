// A VM of a switch that spans the nodes, with one port that two chassis may have meanwhile: the target's is opened by
// the RARP that QEMU sends when the guest goes on there. Nothing in the database has to change in time.
import { setTimeout as pause } from "node:timers/promises";

import { parseAddress } from "../../../../src/net/address.ts";
import { macOf as macOfAddress } from "../../../../src/ovn/zone/addresses.ts";
import { migrate } from "../migration.ts";
import { ovnVersions } from "../packages.ts";
import { SpanningSwitch } from "../spanning-switch.ts";
import { configuration, type Scenario, witnesses } from "./scenario.ts";

const network = "l2";
const port = "l2-vm1";
const address = "192.168.77.8";
const macOf = (text: string) => macOfAddress(parseAddress(text));
/** Before and after the move: as in routed.ts. */
const steadyMs = 1000;
const afterMs = 2000;

export const multichassis: Scenario = {
  name: "multichassis",
  about: "on one switch over all nodes: one port, two chassis, opened by RARP",
  nodes: 2,
  zones: "one",
  versions: [...ovnVersions].reverse(),
  async run(lab, { signal, reactionMs }) {
    await using wide = await SpanningSwitch.open(lab, network, signal);
    await wide.servedPort(port, macOf(address), address, { "requested-chassis": "node1" });
    const pods = lab.nodes.map(async ({ name: node }, at) => {
      const own = { name: `c${at + 1}`, address: `192.168.77.${at + 21}` };
      await wide.port(`l2-${own.name}`, macOf(own.address), own.address, { "requested-chassis": node });
      const plan = {
        name: own.name,
        port: `l2-${own.name}`,
        mac: macOf(own.address),
        addresses: [`${own.address}/24`],
      };
      const pod = await lab.pod(node, plan, signal);
      await pod.installed(signal);
      return [own.name, pod.namespace] as const;
    });
    const [guest, ...places] = await Promise.all([
      lab.guest("node1", { name: "vm1", port, mac: macOf(address) }, signal),
      ...pods,
    ]);
    await guest.leased(signal);
    const before = await configuration(guest);
    const probes = await witnesses(address, Object.fromEntries(places));
    await pause(steadyMs, undefined, { signal });
    await wide.options(port, { "requested-chassis": "node1,node2", "activation-strategy": "rarp" });
    const moved = await migrate(guest, lab.node("node2"), {
      port,
      at: { completed: () => wide.options(port, { "requested-chassis": "node2" }) },
      delaysMs: { completed: reactionMs },
      signal,
    });
    await pause(afterMs, undefined, { signal });
    const reports = await Promise.all(probes.map((probe) => probe.end()));
    return { moved, probes: reports, before, after: await configuration(guest) };
  },
};
