// From which relays an agent takes messages: `--relay links`, `--relay 10.1.0.5`. Pure.
import { parseAddress, type V4Address } from "../net/address.ts";
import { CodedError } from "../net/coded-error.ts";
import { AgentError } from "./error.ts";

export interface Relays {
  /** On the interfaces of its networks. Guests there could do as a relay does, and name any client of the agent. */
  readonly onLinks: boolean;
  /** Of this host, where it listens by UDP; undefined: nowhere. IPv4 alone. */
  readonly address: V4Address | undefined;
}

export function parseRelays(words: readonly string[]): Relays {
  const addresses = words.filter((word) => word !== "links").map(listenedAt);
  if (addresses.length > 1) {
    const given = addresses.join(" and ");
    throw new AgentError("bad-relay", `--relay names ${given}: give one address, or 0.0.0.0 for all of this host.`);
  }
  return { onLinks: words.includes("links"), address: addresses[0] };
}

function listenedAt(word: string): V4Address {
  try {
    const address = parseAddress(word);
    if (address.family === 4) return address;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
  }
  throw new AgentError("bad-relay", `--relay ${word} cannot be read: write links, or an IPv4 address of this host.`);
}
