// VirtualMachineNetworkConfig (network.harvesterhci.io/v1alpha1): the request for addresses of one VM, one entry per
// NIC. Made by the controller for a VM, or by hand, before its VM or without one. Older objects say `networkConfig`
// for `networkConfigs`, and `status` of an entry where today's say `state`; both are read.
import { z } from "zod";

import { conditions } from "../fields.ts";
import { defineKind } from "../kind.ts";
import { harvesterGroup } from "./managed-pool.ts";

const text = z.string().optional();

const nic = z.looseObject({
  networkName: z.string().describe("namespace/name of the NetworkAttachmentDefinition."),
  macAddress: z.string(),
  ipAddress: text.describe("The IPv4 address that is wanted; default: any that is free."),
  ipv6Address: text.describe("The IPv6 address that is wanted; default: any that is free, where the pool has IPv6."),
});

const spec = z.looseObject({
  vmName: z.string(),
  paused: z.boolean().optional().describe("Its addresses are not served, and free for others after the lease time."),
  networkConfigs: z.array(nic).optional(),
  networkConfig: z.array(nic).optional().describe("The former name of networkConfigs."),
});

const nicStatus = z.looseObject({
  allocatedIPAddress: text,
  allocatedIPv6Address: text,
  macAddress: text,
  networkName: text,
  state: text.describe("Allocated, Pending, Stale or Unmanaged."),
  status: text.describe("The former name of state."),
  message: text.describe("Why it is pending, by family where they differ."),
});

const status = z.looseObject({
  networkConfigs: z.array(nicStatus).optional(),
  conditions: conditions.optional(),
});

const conditionColumn = (name: string) => [name, `.status.conditions[?(@.type=="${name}")].status`] as const;

export const networkConfigKind = defineKind(
  harvesterGroup,
  "VirtualMachineNetworkConfig",
  { spec, status: status.optional() },
  {
    shortNames: ["vmnetcfg", "vmnetcfgs"],
    description: "The addresses that one VM asks managed DHCP for.",
    columns: [
      ["VMName", ".spec.vmName"],
      ["IPs", ".status.networkConfigs[*].allocatedIPAddress"],
      ["IPv6s", ".status.networkConfigs[*].allocatedIPv6Address"],
      conditionColumn("Allocated"),
      conditionColumn("Disabled"),
      conditionColumn("InSynced"),
    ],
  },
);

export type NetworkConfig = z.infer<typeof networkConfigKind.schema>;
export type NicRequest = z.infer<typeof nic>;
export type NicStatus = z.infer<typeof nicStatus>;
