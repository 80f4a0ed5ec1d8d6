// IPv6 of one network: DHCPv6, router advertisements and neighbour discovery, on the frames that the wire hands on. It
// runs on the main thread; of a flood the wire hands on a few hundred frames in a twentieth of a second.
//
// Promised: every agent of a network answers, from its own link-local address (made from the interface's MAC, set in no
// kernel) and with the same server DUID: clients send to a group, so no Lease decides who answers. Only an address that
// the pool names as its server's is answered for by the holder of its Lease. While the link is down nothing is sent.
// Not promised: that anybody asks whether a new binding's address is in use; clients do (DAD), and decline.
import type { ReceivedFrame } from "../../dhcp/socket/interface.ts";
import { addressFrom, isMulticast, isSame, keyOf } from "../../dhcp/v6/bytes.ts";
import { type DatagramFrame, decodeFrameV6, type IcmpFrame } from "../../dhcp/v6/frame/frame.ts";
import { linkLocalOf } from "../../dhcp/v6/link-local.ts";
import { listenerReport, listenerReportEveryMs } from "../../dhcp/v6/neighbor/listener-report.ts";
import { announceAddresses, answerNeighbor, groupsOf } from "../../dhcp/v6/neighbor/neighbor-advertisement.ts";
import { finalAdvertisement, RaSender } from "../../dhcp/v6/neighbor/ra-sender.ts";
import { type HeardAdvertisement, heardAdvertisement } from "../../dhcp/v6/neighbor/router-advertisement.ts";
import { decodeSolicitation } from "../../dhcp/v6/neighbor/solicitation.ts";
import { compileBindingV6 } from "../../dhcp/v6/server/binding.ts";
import { NetworkV6 } from "../../dhcp/v6/server/network.ts";
import { type EffectV6, silenceV6 } from "../../dhcp/v6/server/outcome.ts";
import type { PoolDefinitionV6 } from "../../dhcp/v6/server/pool-definition.ts";
import { compilePoolV6, type PoolV6 } from "../../dhcp/v6/server/pool.ts";
import { portV6 } from "../../dhcp/v6/server/reply.ts";
import { ReplyWriterV6 } from "../../dhcp/v6/server/send.ts";
import { DhcpV6Server } from "../../dhcp/v6/server/server.ts";
import { type IcmpPacket, icmpFrame } from "../../frame/icmp.ts";
import { multicast, multicastMac, solicitedNodeOf } from "../../frame/multicast.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import { type V6Address, addressToBytes } from "../../net/address.ts";
import { type Mac, macFromBytes, macToBytes } from "../../net/mac.ts";
import type { BindingRecordV6 } from "../binding-records.ts";

export interface ServiceV6Options {
  /** namespace/name of the NetworkAttachmentDefinition. */
  readonly name: string;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  /** A whole frame without a tag. */
  readonly send: (frame: Uint8Array) => void;
  /** Of all networks of the agent, since a relay names the link that its client is on. Default: one of its own. */
  readonly server?: DhcpV6Server;
  /** Relays may ask on this interface, and name any network. Default: no, since guests could do the same. */
  readonly acceptRelays?: boolean;
  /** Whether this agent answers at the pool's server address. */
  readonly isHolder: (pool: string) => boolean;
  readonly take: (effect: EffectV6) => void;
}

interface Served {
  definition: PoolDefinitionV6;
  sender: RaSender;
  /** Router advertisements that were sent. */
  advertised: number;
}

export class ServiceV6 {
  readonly network: NetworkV6;
  readonly #options: ServiceV6Options;
  readonly #server: DhcpV6Server;
  readonly #replies = new ReplyWriterV6();
  /** Key: the pool, namespace/name. Those of `network` are made of them, while the link is up. */
  readonly #pools = new Map<string, Served>();
  /** Of the interface, while it is up. */
  #mac: Uint8Array | undefined;
  #reportMs = -Infinity;
  #wake = new AbortController();

  constructor(options: ServiceV6Options) {
    this.#options = options;
    this.network = new NetworkV6(options.name);
    this.#server = options.server ?? new DhcpV6Server();
    this.#server.setNetwork(this.network);
  }

  get isServing(): boolean {
    return this.#pools.size > 0;
  }

  /** Where neighbours ask for the server addresses that pools name, as Ethernet has the groups. */
  get groups(): readonly Mac[] {
    const named = Array.from(this.#pools.values(), ({ definition }) => definition.serverAddress);
    const groups = named.flatMap((address) => (address === undefined ? [] : solicitedNodeOf(addressToBytes(address))));
    return groups.map((group) => macFromBytes(multicastMac(group)));
  }

  /** Of a pool; 0 where there is none. */
  advertised(pool: string): number {
    return this.#pools.get(pool)?.advertised ?? 0;
  }

  setPool(definition: PoolDefinitionV6): void {
    const served = this.#pools.get(definition.name);
    const isReportDue = String(served?.definition.serverAddress) !== String(definition.serverAddress);
    if (served === undefined) this.#pools.set(definition.name, this.#served(definition));
    else served.definition = definition;
    this.#compile(definition.name);
    if (served === undefined || isReportDue) this.#changed();
  }

  /** `isPaused`: it is silent. Otherwise guests are told that its router is none any more. */
  deletePool(name: string, isPaused: boolean): void {
    const old = this.network.pool(name);
    if (!this.#pools.delete(name)) return;
    this.network.deletePool(name);
    if (!isPaused && old !== undefined) this.#withdraw(old);
    this.#changed();
  }

  changeBindings(deleted: readonly BindingRecordV6[], set: readonly BindingRecordV6[]): void {
    const { bindings } = this.network;
    for (const { definition } of deleted) bindings.delete(keyOf(addressToBytes(definition.address)));
    for (const { definition } of set) bindings.set(compileBindingV6(definition));
  }

  setQuarantine(address: V6Address, untilMs: number | undefined): void {
    const key = keyOf(addressToBytes(address));
    if (untilMs === undefined) this.network.quarantine.delete(key);
    else this.network.quarantine.add(key, untilMs);
  }

  /** Undefined: the interface is down, or away. */
  linked(mac: Mac | undefined): void {
    const isBack = this.#mac === undefined;
    this.#mac = mac === undefined ? undefined : macToBytes(mac);
    for (const [name, served] of this.#pools) {
      if (isBack) served.sender = new RaSender(this.#options.random);
      this.#compile(name);
    }
    this.#changed();
  }

  /** This agent answers at the server address that the pool names, from now on. */
  announce(name: string): void {
    const pool = this.network.pool(name);
    if (pool === undefined || this.#mac === undefined) return;
    for (const packet of announceAddresses(pool, this.#mac)) this.#sendIcmp(packet);
  }

  take({ bytes, isChecksumGiven }: ReceivedFrame): void {
    if (!this.isServing || this.#mac === undefined) return;
    const frame = decodeFrameV6(bytes, { acceptPartialChecksum: isChecksumGiven });
    if (frame.kind === "datagram") this.#takeDatagram(frame);
    else if (frame.kind === "icmp") this.#takeIcmp(frame, this.#mac);
    else if (frame.code.startsWith("bad-udp")) {
      this.network.tally().count(undefined, { ...silenceV6("malformed"), fault: frame });
    }
  }

  /** Advertisements and listener reports, when they are due, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const dueMs = this.#turn(clock.monotonicMs());
      await sleep(clock, dueMs - clock.monotonicMs(), AbortSignal.any([signal, this.#wake.signal]));
    }
  }

  #turn(nowMs: number): number {
    if (this.#mac === undefined || !this.isServing) return nowMs + idleMs;
    if (nowMs >= this.#reportMs) this.#report(nowMs, this.#mac);
    let dueMs = this.#reportMs;
    for (const [name, served] of this.#pools) {
      const pool = this.network.pool(name);
      if (pool === undefined) continue;
      // One multicast, and one for each of those who wait: bounded by the sender.
      for (let packet = due(served, pool, nowMs); packet !== undefined; packet = due(served, pool, nowMs)) {
        this.#sendIcmp(packet);
        served.advertised += 1;
      }
      dueMs = Math.min(dueMs, served.sender.nextMs);
    }
    return dueMs;
  }

  #report(nowMs: number, mac: Uint8Array): void {
    const { send } = this.#options;
    this.#reportMs = nowMs + listenerReportEveryMs;
    const groups = new Map([...this.network.pools()].flatMap(groupsOf).map((group) => [keyOf(group), group]));
    if (groups.size > 0) send(listenerReport([...groups.values()].slice(0, groupsMax), linkLocalOf(mac), mac));
  }

  #served(definition: PoolDefinitionV6): Served {
    return { definition, sender: new RaSender(this.#options.random), advertised: 0 };
  }

  /** Not while another pool here names the same router: all that guests know is the address of it. */
  #withdraw(old: PoolV6): void {
    for (const pool of this.network.pools()) {
      if (pool.name !== old.name && isRouterOf(pool, old.advertisement?.source)) return;
    }
    this.#sendIcmp(finalAdvertisement(old));
  }

  /** With the link-local address of the interface. What is advertised in another way goes out soon, and three times. */
  #compile(name: string): void {
    if (this.#mac === undefined) return;
    const served = this.#pools.get(name)!;
    const before = this.network.pool(name);
    const pool = compilePoolV6({ ...served.definition, linkLocal: addressFrom(linkLocalOf(this.#mac)) });
    this.network.setPool(pool);
    if (before === undefined) return; // its sender is new, too
    const [old, now] = [before.advertisement, pool.advertisement];
    if (old === now || (old && now && isSame(old.message, now.message) && isSame(old.source, now.source))) return;
    // Who says nothing any more, or names another router, takes the word back.
    if (!isRouterOf(pool, old?.source)) this.#withdraw(before);
    served.sender.again(this.#options.clock.monotonicMs());
    this.#wake.abort();
  }

  #takeDatagram({ source, destination, destinationPort, ethernet, payload }: DatagramFrame): void {
    if (destinationPort !== portV6.server || !this.#isOurs(destination)) return;
    const { clock, take, send, acceptRelays = false } = this.#options;
    const arrival = {
      network: this.network,
      acceptRelays,
      sourceAddress: source,
      destinationAddress: destination,
      sourceMac: ethernet.source,
    };
    const outcome = this.#server.handle(payload, arrival, clock.wallMs());
    for (const effect of outcome.effects) take(effect);
    if (outcome.kind === "silence") return;
    const address = isMulticast(destination) ? linkLocalOf(this.#mac!) : destination;
    const encoded = this.#replies.frame(outcome, this.#mac!, undefined, { mac: ethernet.source, address });
    if (encoded !== undefined) send(encoded.bytes.slice());
  }

  #isOurs(destination: Uint8Array): boolean {
    if (isSame(destination, multicast.dhcpAgents)) return true;
    for (const { serverAddress, linkLocal } of this.network.pools()) {
      if (isSame(destination, serverAddress) || isSame(destination, linkLocal)) return true;
    }
    return false;
  }

  #takeIcmp(frame: IcmpFrame, mac: Uint8Array): void {
    const heard = heardAdvertisement(frame);
    if (heard !== undefined) return this.#hear(heard);
    const question = decodeSolicitation(frame);
    if (question.kind === "router-solicitation") {
      const nowMs = this.#options.clock.monotonicMs();
      for (const { sender } of this.#pools.values()) sender.solicited(question, nowMs);
      this.#wake.abort();
    }
    if (question.kind !== "neighbor-solicitation") return;
    for (const pool of this.network.pools()) {
      const answer = answerNeighbor(pool, question, mac);
      if (answer === undefined) continue;
      const isOwn = isSame(answer.source, pool.linkLocal);
      if (isOwn || this.#options.isHolder(pool.name)) return this.#sendIcmp(answer);
    }
  }

  /** An agent of another pool takes its router back, which is ours too: guests know one router by that address. */
  #hear({ source, isRouter }: HeardAdvertisement): void {
    if (isRouter) return;
    const nowMs = this.#options.clock.monotonicMs();
    for (const [name, { sender }] of this.#pools) {
      if (!isRouterOf(this.network.pool(name), source)) continue;
      sender.again(nowMs, contradictMs);
      this.#wake.abort();
    }
  }

  #sendIcmp(packet: IcmpPacket | undefined): void {
    if (packet === undefined || this.#mac === undefined) return;
    this.#options.send(icmpFrame(packet, this.#mac));
  }

  #changed(): void {
    this.#reportMs = -Infinity;
    this.#wake.abort();
  }
}

function isRouterOf(pool: PoolV6 | undefined, source: Uint8Array | undefined): boolean {
  const { advertisement } = pool ?? {};
  return source !== undefined && advertisement?.finalMessage !== undefined && isSame(advertisement.source, source);
}

function due({ sender }: Served, pool: PoolV6, nowMs: number): IcmpPacket | undefined {
  return sender.nextMs <= nowMs ? sender.advertisement(pool, nowMs) : undefined;
}

/** Time to learn that this agent's own pool has changed, as another agent's has. */
const contradictMs = 500;
/** Woken by any change. */
const idleMs = 3_600_000;
/** 60 x 20 bytes: a report within 1,280 bytes. Two groups for all, and one for each server address. */
const groupsMax = 60;
