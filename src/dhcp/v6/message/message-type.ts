// The kinds of messages (RFC 8415 section 7.3), and their names as documents, metrics and traces have them.

export const messageTypeV6 = {
  solicit: 1,
  advertise: 2,
  request: 3,
  confirm: 4,
  renew: 5,
  rebind: 6,
  reply: 7,
  release: 8,
  decline: 9,
  reconfigure: 10,
  informationRequest: 11,
  relayForward: 12,
  relayReply: 13,
} as const;

const names = {
  1: "SOLICIT",
  2: "ADVERTISE",
  3: "REQUEST",
  4: "CONFIRM",
  5: "RENEW",
  6: "REBIND",
  7: "REPLY",
  8: "RELEASE",
  9: "DECLINE",
  10: "RECONFIGURE",
  11: "INFORMATION-REQUEST",
  12: "RELAY-FORW",
  13: "RELAY-REPL",
} as const;

export type MessageTypeNameV6 = (typeof names)[keyof typeof names];

/** Undefined for what later documents added: LEASEQUERY and others. */
export function messageTypeNameV6(type: number): MessageTypeNameV6 | undefined {
  return (names as Readonly<Record<number, MessageTypeNameV6>>)[type];
}
