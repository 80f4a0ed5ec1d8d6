// IPPool (network.harvesterhci.io/v1alpha1): the addresses that managed DHCP gives to VMs of one network, and what
// their guests are told. Not whereabouts' kind of the same name: commands and documents say `ippl`. The schema accepts
// what Harvester's controller and its design document write; what it cannot say, src/vmnet/rules says in sentences.
import { z } from "zod";

import { conditions, count } from "../fields.ts";
import { defineKind } from "../kind.ts";

export const harvesterGroup = "network.harvesterhci.io";

const text = z.string().optional();
const texts = z.array(z.string()).optional();

const range = {
  start: text.describe("The first address for VMs; default: the first of the subnet."),
  end: text.describe("The last address for VMs; default: the last of the subnet."),
};

const reservation = z.looseObject({
  ipAddress: z.string(),
  macAddress: text.describe("Served to this client, whether a VM has it or not. Absent: nobody is given the address."),
  hostname: text,
  description: text,
});

const option = z.looseObject({
  code: z.int().min(1).max(254),
  type: text.describe("ipv4, text, uint8, uint16, uint32, hex, ...; default: what the code is known to be."),
  value: z.string(),
});

const route = z.looseObject({ destination: z.string(), gateway: z.string() });

const ipv4Config = z.looseObject({
  serverIP: text.describe("The address that clients renew at; default: the first that is free."),
  cidr: z.string().describe("The subnet."),
  pool: z
    .looseObject({ ...range, exclude: texts.describe("Addresses that no VM gets: single ones, CIDRs, or FIRST-LAST.") })
    // `pool:` with nothing below it, as the design document's examples have it.
    .nullish()
    .meta({ nullable: true }),
  ...range,
  router: text,
  dns: texts,
  domainName: text,
  domainSearch: texts,
  ntp: texts,
  leaseTime: z.int().optional().describe("Seconds; default: 86400."),
  mtu: z.int().optional(),
  routes: z.array(route).optional(),
  nextServer: text,
  tftpServerName: text,
  bootFileName: text,
  options: z.array(option).optional().describe("Further options, by code."),
  reservations: z.array(reservation).optional().describe("Addresses of devices without a VM, and of nobody (VIPs)."),
});

const ipv6Config = z.looseObject({
  cidr: z.string(),
  serverIP: text.describe("Link-local or of the subnet; default: a link-local one."),
  pool: z
    .looseObject({ ...range, exclude: texts })
    .nullish()
    .meta({ nullable: true }),
  router: text.describe("Link-local address of the router; with `advertise`, the agent says that it is one."),
  dns: texts,
  domainSearch: texts,
  leaseTime: z.int().optional().describe("Seconds; default: 86400."),
  reservations: z.array(reservation).optional().describe("Addresses of devices without a VM, and of nobody (VIPs)."),
  advertise: z.boolean().optional().describe("Send router advertisements (M and O set). Default: yes."),
});

const spec = z.looseObject({
  networkName: z.string().min(1).describe("namespace/name of the NetworkAttachmentDefinition."),
  paused: z.boolean().optional().describe("Nothing is allocated or served; what is allocated stays so."),
  ipv4Config,
  ipv6Config: ipv6Config.optional(),
});

/** Addresses and counts of one family. */
const family = z.looseObject({
  allocated: z
    .record(z.string(), z.string())
    .meta({ "x-kubernetes-map-type": "atomic" })
    .optional()
    .describe(
      "Address -> MAC, EXCLUDED or RESERVED. Not all of them where there are very many: see allocatedTruncated.",
    ),
  allocatedTruncated: z.boolean().optional(),
  used: z.int().default(0),
  available: z.int().default(0),
});

const podReference = z.looseObject({ namespace: text, name: text, image: text, uid: text });

const status = z.looseObject({
  lastUpdate: z.string().nullish().meta({ format: "date-time", nullable: true }),
  ipv4: family.optional(),
  ipv6: family.extend({ available: count.default(0).describe("Text where a number would not be exact.") }).optional(),
  agentPodRef: podReference.optional().describe("The agent that answers at the server's address."),
  conditions: conditions.optional(),
});

const conditionColumn = (name: string) => [name, `.status.conditions[?(@.type=="${name}")].status`] as const;

export const managedPoolKind = defineKind(
  harvesterGroup,
  "IPPool",
  { spec, status: status.optional() },
  {
    shortNames: ["ippl", "ippls", "ipl"],
    description: "Addresses that managed DHCP gives to the VMs of one network.",
    columns: [
      ["Network", ".spec.networkName"],
      ["Available", ".status.ipv4.available"],
      ["Used", ".status.ipv4.used"],
      ["IPv6-Used", ".status.ipv6.used", 1],
      conditionColumn("Registered"),
      conditionColumn("CacheReady"),
      conditionColumn("AgentReady"),
    ],
  },
);

export type ManagedPool = z.infer<typeof managedPoolKind.schema>;
