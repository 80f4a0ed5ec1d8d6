// The server: networks, datagrams and time in; outcomes out. No socket, clock or disk: same networks, same answers.
//
// Promised: no datagram makes it throw. Not promised: that an outcome outlives the next write to the datagram's buffer.
import { addressToBytes } from "../../../net/address.ts";
import { addressFrom, isMulticast, isUnspecified, keyOf } from "../bytes.ts";
import { decodeEnvelope, type Envelope } from "../message/decode.ts";
import type { Sender } from "./client.ts";
import { bindingOfV6, decideV6 } from "./decide.ts";
import type { NetworkV6 } from "./network.ts";
import { type OutcomeV6, silenceV6 } from "./outcome.ts";
import { refuseV6 } from "./refuse.ts";
import { TallyV6 } from "./tally.ts";

/** How a datagram came. */
export interface ArrivalV6 extends Sender {
  /** The network of the interface. Undefined on a UDP socket for relays. */
  readonly network: NetworkV6 | undefined;
  /** Whether a relay may send this way. Guests of an interface may not: they could name any link and any client. */
  readonly acceptRelays: boolean;
  /** Of the IP header: where it went to. Clients send to ff02::1:2. */
  readonly destinationAddress: Uint8Array;
}

export class DhcpV6Server {
  /** Key: the network's name. */
  readonly #networks = new Map<string, NetworkV6>();
  /** Of what belongs to no network. */
  readonly tally = new TallyV6();

  setNetwork(network: NetworkV6): void {
    this.#networks.set(network.name, network);
  }

  deleteNetwork(name: string): void {
    this.#networks.delete(name);
  }

  network(name: string): NetworkV6 | undefined {
    return this.#networks.get(name);
  }

  /** A quarantine by this message holds here at once; the caller tells the other servers, by the effects. */
  handle(datagram: Uint8Array, arrival: ArrivalV6, nowMs: number): OutcomeV6 {
    const envelope = decodeEnvelope(datagram);
    if (envelope.kind === "fault") {
      return this.#counted(arrival.network?.tally(), undefined, { ...silenceV6("malformed"), fault: envelope });
    }
    const { message, relays } = envelope;
    const isUnicast = relays.length === 0 && !isMulticast(arrival.destinationAddress);
    const refusal = refuseWay(envelope, arrival) ?? refuseV6(message, isUnicast);
    if (refusal !== undefined) return this.#counted(arrival.network?.tally(), message.type, refusal);
    const network = this.#networkOf(envelope, arrival);
    if (network === undefined) return this.#counted(undefined, message.type, silenceV6("unknown-network"));
    const { sourceAddress, sourceMac } = arrival;
    const binding = bindingOfV6(envelope, network, { sourceAddress, sourceMac });
    const outcome = decideV6(envelope, network, binding, { sourceAddress, sourceMac, isUnicast }, nowMs);
    for (const effect of outcome.effects) {
      if (effect.kind === "quarantined") network.quarantine.add(keyOf(addressToBytes(effect.address)), effect.untilMs);
    }
    return this.#counted(network.tally(binding?.pool), message.type, outcome);
  }

  #counted(tally: TallyV6 | undefined, type: number | undefined, outcome: OutcomeV6): OutcomeV6 {
    (tally ?? this.tally).count(type, outcome);
    return outcome;
  }

  /** The relay nearest to the client that names a link (RFC 8415 section 13.1); one on the link itself names none. */
  #networkOf({ relays }: Envelope, arrival: ArrivalV6): NetworkV6 | undefined {
    const named = relays.findLast(({ linkAddress }) => !isUnspecified(linkAddress));
    return named === undefined ? arrival.network : this.#networkAround(named.linkAddress);
  }

  /** Some hundred networks at most, each with few pools. */
  #networkAround(link: Uint8Array): NetworkV6 | undefined {
    const address = addressFrom(link);
    for (const network of this.#networks.values()) if (network.poolAround(address) !== undefined) return network;
    return undefined;
  }
}

function refuseWay({ relays }: Envelope, { acceptRelays, sourceAddress }: ArrivalV6): OutcomeV6 | undefined {
  if (relays.length > 0 && !acceptRelays) return silenceV6("relay-not-allowed");
  const isReturnable = !isUnspecified(sourceAddress) && !isMulticast(sourceAddress);
  return isReturnable ? undefined : silenceV6("no-return-address");
}
