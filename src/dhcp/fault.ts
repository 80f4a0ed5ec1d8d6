// A fault in bytes off the wire: a value, never an exception. No sender of rubbish can make the server throw.

export type FaultCode =
  // frames (src/dhcp/frame)
  | "frame-too-short"
  | "not-ipv4"
  | "bad-ip-header"
  | "bad-ip-checksum"
  | "fragment"
  | "not-udp"
  | "bad-udp-length"
  | "bad-udp-checksum"
  // frames of IPv6 (src/dhcp/v6/frame, src/dhcp/v6/neighbor)
  | "not-ipv6"
  | "bad-icmp-checksum"
  | "bad-neighbor-message"
  // messages (src/dhcp/message)
  | "message-too-short"
  | "bad-hardware-length"
  | "no-cookie"
  | "truncated"
  | "bad-option"
  | "too-many-relays"
  // values of options (src/dhcp/options)
  | "bad-value";

export interface Fault {
  readonly kind: "fault";
  readonly code: FaultCode;
  /** A whole sentence. It is the same for every fault of its kind: a flood of bad frames allocates nothing. */
  readonly message: string;
}

export function fault(code: FaultCode, message: string): Fault {
  return Object.freeze({ kind: "fault", code, message });
}
