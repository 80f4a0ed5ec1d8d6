// The server: networks, datagrams and time in; outcomes out. No socket, clock or disk: same networks, same answers.
//
// Promised: no datagram makes it throw. Not promised: that an outcome outlives the next write to the datagram's buffer.
import { decodeMessage, type Message } from "../message/decode.ts";
import { code } from "../options/codes.ts";
import { linkSelectionOf } from "../options/relay-agent.ts";
import { bindingOf, decide, refuse } from "./decide.ts";
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

  /** A quarantine by this message holds here at once; the caller tells the other servers, by the effects. */
  handle(datagram: Uint8Array, arrival: Arrival, nowMs: number): Outcome {
    const message = decodeMessage(datagram);
    if (message.kind === "fault") {
      return this.#counted(arrival.network?.tally(), undefined, { ...silence("malformed"), fault: message });
    }
    const refusal = refuse(message, arrival.acceptRelays);
    if (refusal !== undefined) return this.#counted(arrival.network?.tally(), message.type, refusal);
    const network = this.#networkOf(message, arrival);
    if (network === undefined) return this.#counted(undefined, message.type, silence("unknown-network"));
    const binding = bindingOf(message, network);
    const outcome = decide(message, network, binding, arrival.sourceAddress, nowMs);
    for (const effect of outcome.effects) {
      if (effect.kind === "quarantined") network.quarantine.add(effect.address.value, effect.untilMs);
    }
    return this.#counted(network.tally(binding?.pool), message.type, outcome);
  }

  #counted(tally: Tally | undefined, type: number | undefined, outcome: Outcome): Outcome {
    (tally ?? this.tally).count(type, outcome);
    return outcome;
  }

  #networkOf(message: Message, arrival: Arrival): Network | undefined {
    if (message.giaddr !== 0) return this.#networkAround(linkOf(message));
    return arrival.network ?? this.#networkOfClient(message);
  }

  /** Renewals and releases are unicast, past the relay: ciaddr tells the network (RFC 2131 section 4.3.2, RENEWING). */
  #networkOfClient({ ciaddr }: Message): Network | undefined {
    return ciaddr === 0 ? undefined : this.#networkAround(ciaddr);
  }

  /** Some hundred networks at most, each with few pools: an AND and a comparison for each. */
  #networkAround(address: number): Network | undefined {
    for (const network of this.#networks.values()) if (network.poolAround(address) !== undefined) return network;
    return undefined;
  }
}

/** An address of the client's link: the relay's link selection (RFC 3527), else giaddr (RFC 2131 section 4.3.1). */
function linkOf(message: Message): number {
  const information = message.options.get(code.relayAgent);
  return (information === undefined ? undefined : linkSelectionOf(information)) ?? message.giaddr;
}
