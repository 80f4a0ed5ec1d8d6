// The kinds of messages (RFC 2132 section 9.6), and their names as documents, metrics and traces have them.

export const messageType = {
  discover: 1,
  offer: 2,
  request: 3,
  decline: 4,
  ack: 5,
  nak: 6,
  release: 7,
  inform: 8,
} as const;

export type MessageTypeName = Uppercase<keyof typeof messageType>;

const names = new Map<number, MessageTypeName>(
  Object.entries(messageType).map(([name, value]) => [value, name.toUpperCase() as MessageTypeName]),
);

/** Undefined for what later documents added: FORCERENEW, LEASEQUERY and others. */
export function messageTypeName(type: number): MessageTypeName | undefined {
  return names.get(type);
}
