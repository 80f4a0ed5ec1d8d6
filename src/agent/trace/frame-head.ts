// What every line of a trace begins with, whatever the frame has.

import type { Ethernet } from "../../frame/ethernet.ts";

export interface TracedMessage {
  /** Whose it may be, as six pairs each: that of a DHCP client, or of both ends. */
  readonly macs: readonly string[];
  readonly line: string;
}

/** `04:05:06.789 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff vlan 48`. */
export function frameHead({ source, destination, vlan }: Ethernet, atMs: number): string {
  const time = new Date(atMs).toISOString().slice(11, 23);
  return `${time} ${hex(source, ":")} > ${hex(destination, ":")}${vlan === undefined ? "" : ` vlan ${vlan}`}`;
}

export function hex(bytes: Uint8Array, separator = ""): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(separator);
}
