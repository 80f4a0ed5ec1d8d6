// The fixed part of a message (RFC 2131 section 2, figure 1; RFC 951 section 3): where each field begins.

export const field = {
  op: 0,
  htype: 1,
  hlen: 2,
  hops: 3,
  xid: 4,
  secs: 8,
  flags: 10,
  ciaddr: 12,
  yiaddr: 16,
  siaddr: 20,
  giaddr: 24,
  chaddr: 28,
  sname: 44,
  file: 108,
  cookie: 236,
  options: 240,
} as const;

export const chaddrBytes = 16;
export const snameBytes = 64;
export const fileBytes = 128;

/** 99, 130, 83, 99 (RFC 2131 section 3). */
export const magicCookie = 0x6382_5363;

export const op = { request: 1, reply: 2 } as const;

/** The only flag there is: the client cannot take unicast before it has its address (RFC 2131 section 2, figure 2). */
export const broadcastFlag = 0x8000;

/** Ethernet, in `htype` and as the type of a client identifier (RFC 1700, hardware types). */
export const ethernet = { htype: 1, hlen: 6 } as const;

/** The numbers of the fixed part, as both directions have them. Addresses are 0 to 2^32 - 1. */
export interface Header {
  readonly op: number;
  readonly htype: number;
  readonly hops: number;
  readonly xid: number;
  readonly secs: number;
  readonly flags: number;
  readonly ciaddr: number;
  readonly yiaddr: number;
  readonly siaddr: number;
  readonly giaddr: number;
  /** As many bytes as `hlen` says, 16 at most. */
  readonly chaddr: Uint8Array;
}
