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
  /** Of what belongs to no network. */
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
      return this.#counted(arrival.network, undefined, { ...silence("malformed"), fault: message });
    }
    const refusal = refuse(message, arrival.acceptRelays);
    if (refusal !== undefined) return this.#counted(arrival.network, message.type, refusal);
    const network = this.#networkOf(message, arrival);
    if (network === undefined) return this.#counted(undefined, message.type, silence("unknown-network"));
    const outcome = decide(message, network, arrival.sourceAddress, nowMs);
    for (const effect of outcome.effects) {
      if (effect.kind === "quarantined") network.quarantine.add(effect.address.value, effect.untilMs);
    }
    return this.#counted(network, message.type, outcome);
  }

  #counted(network: Network | undefined, type: number | undefined, outcome: Outcome): Outcome {
    (network ?? this).tally.count(type, outcome);
    return outcome;
  }

  #networkOf(message: Message, arrival: Arrival): Network | undefined {
    if (message.giaddr !== 0) return this.#networkAround(linkOf(message));
    return arrival.network ?? this.#networkOfClient(message);
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
