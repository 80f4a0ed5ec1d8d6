// The server: networks in, datagrams in, time in; outcomes out. No socket, no clock, no disk: servers with the same networks give the same
// answers.
//
// Promised: no datagram makes it throw. Not promised: that an outcome is good after the datagram's buffer has been written again.
import { decodeMessage, type Message } from "../message/decode.ts";
import { code } from "../options/codes.ts";
import { linkSelectionOf } from "../options/relay-agent.ts";
import { decide, refuse } from "./decide.ts";
import type { Network } from "./network.ts";
import { type Outcome, silence } from "./outcome.ts";
import { Tally } from "./tally.ts";

/** How a datagram came. */
export interface Arrival {
  /** The network of the interface. Undefined on a UDP socket for relays and for the clients behind them. */
  readonly network: Network | undefined;
  /** Whether a relay may send this way. Guests of an interface may not: they could name any network by giaddr. */
  readonly acceptRelays: boolean;
  /** Of the IP header. */
  readonly sourceAddress: number;
}

export class DhcpServer {
  /** Key: the network's name. */
  readonly #networks = new Map<string, Network>();
  readonly tally = new Tally();

  setNetwork(network: Network): void {
    this.#networks.set(network.name, network);
  }

  deleteNetwork(name: string): void {
    this.#networks.delete(name);
  }

  network(name: string): Network | undefined {
    return this.#networks.get(name);
  }

  /** A quarantine that the message brings about holds here at once; telling the other servers is the caller's, by the effects. */
  handle(datagram: Uint8Array, arrival: Arrival, nowMs: number): Outcome {
    const message = decodeMessage(datagram);
    if (message.kind === "fault") {
      const outcome: Outcome = { ...silence("malformed"), fault: message };
      this.tally.count(undefined, outcome);
      return outcome;
    }
    const outcome = this.#answer(message, arrival, nowMs);
    this.tally.count(message.type, outcome);
    return outcome;
  }

  #answer(message: Message, arrival: Arrival, nowMs: number): Outcome {
    const refusal = refuse(message);
    if (refusal !== undefined) return refusal;
    if (message.giaddr !== 0 && !arrival.acceptRelays) return silence("relay-not-allowed");
    const network =
      message.giaddr === 0 ? (arrival.network ?? this.#networkOfClient(message)) : this.#networkAround(linkOf(message));
    if (network === undefined) return silence("unknown-network");
    const outcome = decide(message, network, arrival.sourceAddress, nowMs);
    for (const effect of outcome.effects) {
      if (effect.kind === "quarantined") network.quarantine.add(effect.address.value, effect.untilMs);
    }
    return outcome;
  }

  /** A client behind a relay renews and releases by unicast, past its relay: its address tells the network (RFC 2131 section 4.3.2, RENEWING). */
  #networkOfClient({ ciaddr }: Message): Network | undefined {
    return ciaddr === 0 ? undefined : this.#networkAround(ciaddr);
  }

  /** Some hundred networks at most, each with few pools: an AND and a comparison for each. */
  #networkAround(address: number): Network | undefined {
    for (const network of this.#networks.values()) if (network.poolAround(address) !== undefined) return network;
    return undefined;
  }
}

/** An address of the link that the client is on: what the relay selects (RFC 3527), else its own (RFC 2131 section 4.3.1). */
function linkOf(message: Message): number {
  const information = message.options.get(code.relayAgent);
  return (information === undefined ? undefined : linkSelectionOf(information)) ?? message.giaddr;
}
