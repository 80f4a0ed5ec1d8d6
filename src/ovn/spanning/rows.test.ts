// The rows of a network whose switch spans the nodes, through a VM's life.
import { describe, expect, it } from "vitest";

import { vmAt } from "../../../test/ovn/zones.ts";
import { parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { VmPlacement } from "../vm/placement.ts";
import { type SpanningNetwork, spanningVmOf } from "./network.ts";
import { desiredSpanning } from "./rows.ts";

const layer2: SpanningNetwork = {
  name: "blue-net",
  definition: "t/blue",
  physical: undefined,
  mtu: 1400,
  router: undefined,
};
const localnet: SpanningNetwork = {
  ...layer2,
  physical: { network: "physnet", vlan: 7 },
  router: parseAddress("192.168.77.1"),
};
const subnet = parsePrefix("192.168.77.0/24");
const addresses = [{ address: parseAddress("192.168.77.8"), subnet }];
const on = (ports: readonly string[], active: string | undefined) => vmAt(ports, active, { addresses });
const rowsOf = (network: SpanningNetwork, vm: VmPlacement, table: string) =>
  desiredSpanning(network, [spanningVmOf(vm, (node) => `chassis-${node}`)])
    .wanted.filter((each) => each.table === table)
    .map(({ row }) => row);

describe("a VM on a spanning switch", () => {
  it.each([
    ["runs", on(["vl-a@n1"], "vl-a@n1"), { "requested-chassis": "chassis-n1" }],
    [
      "has a target that waits",
      on(["vl-a@n1", "vl-b@n2"], "vl-a@n1"),
      { "requested-chassis": "chassis-n1,chassis-n2", "activation-strategy": "rarp" },
    ],
    [
      "runs on the target: nothing is to be written in time",
      on(["vl-a@n1", "vl-b@n2"], "vl-b@n2"),
      { "requested-chassis": "chassis-n1,chassis-n2", "activation-strategy": "rarp" },
    ],
    ["has left its source", on(["vl-b@n2"], "vl-b@n2"), { "requested-chassis": "chassis-n2" }],
  ] as const)("%s", (_, vm, options) => {
    expect(rowsOf(layer2, vm, "Logical_Switch_Port")).toMatchObject([
      { name: "t.blue_t_vm1", addresses: ["0a:58:0a:f4:00:04 192.168.77.8"], options },
    ]);
    const [port] = rowsOf(layer2, vm, "Logical_Switch_Port") as { options: object }[];
    expect(port!.options).toEqual(options);
  });

  it("that has no pod has no row", () => {
    expect(desiredSpanning(layer2, [spanningVmOf(on([], undefined), () => undefined)]).wanted).toHaveLength(1);
  });

  it("is told its network's router, if there is one", () => {
    const vm = on(["vl-a@n1"], "vl-a@n1");
    const options = (network: SpanningNetwork) =>
      (rowsOf(network, vm, "DHCP_Options")[0] as { options: object }).options;
    expect(options(layer2)).not.toHaveProperty("router");
    expect(options(localnet)).toMatchObject({ router: "192.168.77.1", server_id: "192.168.77.1", hostname: '"vm1"' });
  });
});

it("a localnet switch leads to the physical network, with its VLAN", () => {
  const [port] = rowsOf(localnet, on([], undefined), "Logical_Switch_Port");
  expect(port).toMatchObject({ type: "localnet", options: { network_name: "physnet" }, tag_request: 7 });
});
