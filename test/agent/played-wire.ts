// An Ethernet in memory: wires of agents on it with the real DHCP server behind each, hosts that answer ARP, clients
// that send datagrams to one wire. Only the socket and its thread are played.
import { compileBinding } from "../../src/dhcp/server/binding.ts";
import { Network } from "../../src/dhcp/server/network.ts";
import { compilePool } from "../../src/dhcp/server/pool.ts";
import { ReplyWriter } from "../../src/dhcp/server/send.ts";
import { DhcpServer } from "../../src/dhcp/server/server.ts";
import type { WireHandler, WireOptions } from "../../src/dhcp/socket/interface.ts";
import type { Wire } from "../../src/dhcp/socket/wire.ts";
import { type Mac, macFromBytes } from "../../src/net/mac.ts";
import { type Sent, storyOf } from "../dhcp/fixture.ts";
import { ip, packet, type Unpacked, unpack } from "../dhcp/packet.ts";

export class PlayedEthernet {
  /** Address -> MAC of a host that is no agent. */
  readonly hosts = new Map<string, Mac>();
  readonly #wires: PlayedWire[] = [];
  #last = 0;

  open(options: WireOptions): PlayedWire {
    const wire = new PlayedWire(this, options.handler, macFromBytes(Uint8Array.of(2, 0, 0xaa, 0, 0, ++this.#last)));
    this.#wires.push(wire);
    return wire;
  }

  /** Who answers ARP for the address, the asker aside. */
  answersFor(address: string, asker?: PlayedWire): Mac | undefined {
    const host = this.hosts.get(address);
    return host ?? this.#wires.find((wire) => wire !== asker && !wire.isCut && wire.answered.has(address))?.mac;
  }

  /** MACs of the agents that answer for it. */
  holders(address: string): Mac[] {
    return this.#wires.filter((wire) => !wire.isCut && wire.answered.has(address)).map(({ mac }) => mac);
  }
}

export class PlayedWire implements Wire {
  readonly mac: Mac;
  readonly handler: WireHandler;
  readonly answered = new Set<string>();
  /** Its process was killed, or its cable pulled. */
  isCut = false;
  /** Addresses that were asked about, in order. */
  readonly asked: string[] = [];
  /** `ADDRESS MAC` of every binding that it was ever told, in order. */
  readonly everBound: string[] = [];
  /** Frames of IPv6. */
  readonly sent: Uint8Array[] = [];
  readonly #ethernet: PlayedEthernet;
  readonly #server = new DhcpServer();
  readonly #networks = new Map<string, Network>();
  readonly #writer = new ReplyWriter();

  constructor(ethernet: PlayedEthernet, handler: WireHandler, mac: Mac) {
    this.#ethernet = ethernet;
    this.handler = handler;
    this.mac = mac;
  }

  setLink({ network, interface: name }: Parameters<Wire["setLink"]>[0]): void {
    this.#of(network);
    const report = { network, interface: name, state: "up", mac: this.mac, message: "It is up." } as const;
    setImmediate(() => this.handler.link(report));
  }

  deleteNetwork(network: string): void {
    this.#networks.delete(network);
    this.#server.deleteNetwork(network);
  }

  setPool(network: string, pool: Parameters<Wire["setPool"]>[1]): void {
    this.#of(network).setPool(compilePool(pool));
  }

  deletePool(network: string, pool: string): void {
    this.#of(network).deletePool(pool);
  }

  changeBindings(network: string, { set = [], delete: deleted = [] }: Parameters<Wire["changeBindings"]>[1]) {
    const { bindings } = this.#of(network);
    for (const address of deleted) bindings.delete(address.value);
    for (const binding of set) {
      this.everBound.push(`${binding.address} ${binding.mac}`);
      bindings.set(compileBinding(binding));
    }
    return [];
  }

  replaceBindings(network: string, set: Parameters<Wire["replaceBindings"]>[1]) {
    const { bindings } = this.#of(network);
    for (const { address } of Array.from(bindings.values(), (each) => each)) bindings.delete(address);
    return this.changeBindings(network, { set });
  }

  setQuarantine(network: string, address: { readonly value: number }, untilMs: number | undefined): void {
    const { quarantine } = this.#of(network);
    if (untilMs === undefined) quarantine.delete(address.value);
    else quarantine.add(address.value, untilMs);
  }

  answerFor(_network: string, address: { toString(): string }, isOn: boolean): void {
    if (isOn) this.answered.add(address.toString());
    else this.answered.delete(address.toString());
  }

  async probe(_network: string, address: { toString(): string }) {
    this.asked.push(address.toString());
    const mac = this.#ethernet.answersFor(address.toString(), this);
    return mac === undefined ? ({ kind: "silent" } as const) : ({ kind: "in-use", mac } as const);
  }

  async counters() {
    const networks = Array.from(
      this.#networks,
      ([name, { tallies, bindings }]) => [name, { bindings: bindings.size, pools: tallies }] as const,
    );
    return { networks: new Map(networks), sockets: new Map() };
  }

  trace() {
    return { close: () => {} };
  }

  send(_network: string, frame: Uint8Array): void {
    this.sent.push(frame);
  }

  async close(): Promise<void> {
    this.isCut = true;
  }

  /** What a client's message gets on this wire, as a line of text: `OFFER 10.0.0.5`, `silence: unknown-client`. */
  story(network: string, sent: Sent): string {
    const outcome = this.#handle(network, sent);
    this.handler.effects(outcome.effects);
    return storyOf(outcome);
  }

  /** The reply's fields; fails where there is none. */
  reply(network: string, sent: Sent): Unpacked {
    const outcome = this.#handle(network, sent);
    if (outcome.kind === "silence") throw new Error(`silence: ${outcome.reason}`);
    return unpack(this.#writer.datagram(outcome).bytes.slice());
  }

  #handle(name: string, { sourceAddress = "0.0.0.0", acceptRelays = false, nowMs = Date.now(), ...fields }: Sent) {
    const arrival = { network: this.#of(name), acceptRelays, sourceAddress: ip(sourceAddress).value };
    return this.#server.handle(packet(fields), arrival, nowMs);
  }

  #of(name: string): Network {
    const found = this.#networks.get(name) ?? new Network(name, { burst: 1e6, perSecond: 1e6, clientsMax: 1000 });
    this.#networks.set(name, found);
    this.#server.setNetwork(found);
    return found;
  }
}
