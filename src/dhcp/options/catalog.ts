// Names and value kinds of options (RFC 2132 and the documents in codes.ts). An option not in this table is bytes.
import { code } from "./codes.ts";
import type { OptionKind } from "./value.ts";

export interface OptionEntry {
  readonly name: string;
  readonly kind: OptionKind;
}

const unknown: OptionEntry = { name: "unknown", kind: "bytes" };

/** Key: the option's code. */
const catalog = new Map<number, OptionEntry>([
  [code.subnetMask, { name: "subnet mask", kind: "address" }],
  [2, { name: "time offset", kind: "uint32" }],
  [code.routers, { name: "routers", kind: "addresses" }],
  [code.dnsServers, { name: "DNS servers", kind: "addresses" }],
  [7, { name: "log servers", kind: "addresses" }],
  [code.hostName, { name: "host name", kind: "text" }],
  [code.domainName, { name: "domain name", kind: "text" }],
  [17, { name: "root path", kind: "text" }],
  [code.mtu, { name: "MTU", kind: "uint16" }],
  [code.broadcastAddress, { name: "broadcast address", kind: "address" }],
  [code.ntpServers, { name: "NTP servers", kind: "addresses" }],
  [code.vendorInformation, { name: "vendor information", kind: "bytes" }],
  [44, { name: "NetBIOS name servers", kind: "addresses" }],
  [46, { name: "NetBIOS node type", kind: "uint8" }],
  [code.requestedAddress, { name: "requested address", kind: "address" }],
  [code.leaseTime, { name: "lease time", kind: "uint32" }],
  [code.overload, { name: "overload", kind: "uint8" }],
  [code.messageType, { name: "message type", kind: "uint8" }],
  [code.serverIdentifier, { name: "server identifier", kind: "address" }],
  [code.parameterRequestList, { name: "parameter request list", kind: "codes" }],
  [code.message, { name: "message", kind: "text" }],
  [code.messageSizeMax, { name: "maximum message size", kind: "uint16" }],
  [code.renewalTime, { name: "renewal time (T1)", kind: "uint32" }],
  [code.rebindingTime, { name: "rebinding time (T2)", kind: "uint32" }],
  [code.vendorClass, { name: "vendor class", kind: "text" }],
  [code.clientIdentifier, { name: "client identifier", kind: "client-identifier" }],
  [code.tftpServerName, { name: "TFTP server name", kind: "text" }],
  [code.bootFileName, { name: "boot file name", kind: "text" }],
  [77, { name: "user class", kind: "bytes" }],
  [81, { name: "client FQDN", kind: "bytes" }],
  [code.relayAgent, { name: "relay agent information", kind: "relay-agent" }],
  [93, { name: "client system architecture", kind: "uint16" }],
  [108, { name: "IPv6-only preferred", kind: "uint32" }],
  [114, { name: "captive portal", kind: "text" }],
  [116, { name: "auto-configure", kind: "uint8" }],
  [code.domainSearch, { name: "domain search", kind: "domains" }],
  [code.classlessRoutes, { name: "classless routes", kind: "routes" }],
  [code.tftpServers, { name: "TFTP servers", kind: "addresses" }],
  // Microsoft's number for the same thing, from before RFC 3442.
  [249, { name: "classless routes (249)", kind: "routes" }],
  [252, { name: "proxy auto-discovery", kind: "text" }],
]);

export function optionEntry(optionCode: number): OptionEntry {
  return catalog.get(optionCode) ?? unknown;
}
