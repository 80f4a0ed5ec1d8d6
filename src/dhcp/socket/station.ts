// Everything that the wire's thread has: server, ports, links, and what waits for the main thread. Orders change it;
// turns drive it. It waits for nothing: the thread does, until `dueMs` or until a descriptor has something.
import { isInterfaceName, openQueries } from "../../linux/device.ts";
import { KernelError, libc, kernelFailure } from "../../linux/libc.ts";
import { macKeyOf } from "../server/binding.ts";
import { Network } from "../server/network.ts";
import type { Outcome, SilenceReason } from "../server/outcome.ts";
import { DhcpServer } from "../server/server.ts";
import { AnsweredAddresses } from "./answered.ts";
import type { Contest, LinkDefinition, LinkReport, NetworkCounters, ReceivedFrame } from "./interface.ts";
import { Link, type LinkSink, type Moment } from "./link.ts";
import { EffectQueue } from "./messages/effect-queue.ts";
import type { Order, Report, ThreadPlan } from "./messages/orders.ts";
import { unpackBindings } from "./messages/pack-bindings.ts";
import { unpackPool } from "./messages/pack-pool.ts";
import { Port, type PortContext } from "./port.ts";
import { ReceiveBatch } from "./receive-batch.ts";
import { type RelayContext, RelaySocket } from "./relay-socket.ts";
import { SendBatch } from "./send-batch.ts";
import { tracedFrame, TraceRing } from "./trace-ring.ts";

/** Effects and traces wait this long for others, so that a busy wire makes few messages. */
const reportEveryMs = 50;
/** Frames of IPv6 that wait. A network or a sender that floods its link leaves room for the others. */
const framesMax = { all: 1024, network: 256, sender: 32 } as const;
/** An Ethernet frame without its tag. */
const frameBytesMax = 1514;
/** Of an Ethernet frame: the sender's MAC. */
const sourceAt = 6;

/** What the thread waits on. */
export interface PolledSocket {
  /** Below 0: none now; poll(2) passes over it. */
  readonly fd: number;
  receive(now: Moment): void;
  /** poll(2) says that something is wrong with it. */
  trouble(now: Moment): void;
}

type Ordered<Kind extends Order["kind"]> = Extract<Order, { kind: Kind }>;

export class Station implements LinkSink, PortContext, RelayContext {
  readonly server = new DhcpServer();
  readonly incoming = new ReceiveBatch();
  readonly outgoing = new SendBatch();
  readonly queries = openQueries();
  readonly sink = this;
  readonly #plan: ThreadPlan;
  readonly #tell: (report: Report) => void;
  /** Key: the network. */
  readonly #networks = new Map<string, Network>();
  /** Key: the network. */
  readonly #links = new Map<string, Link>();
  /** Key: the network. They stay when its link is another. */
  readonly #answered = new Map<string, AnsweredAddresses>();
  /** Key: the interface. */
  readonly #ports = new Map<string, Port>();
  readonly #relay: RelaySocket | undefined;
  /** Made from ports and relay when it is asked for. */
  #sockets: readonly PolledSocket[] | undefined;
  readonly #effects = new EffectQueue();
  /** Key: the caller's number. */
  readonly #traces = new Map<number, TraceRing>();
  #frames: ReceivedFrame[] = [];
  /** Key: a network, or a sender's MAC as a number. How many of `#frames` are its. */
  readonly #framesOf = new Map<string | number, number>();
  /** The main thread deals with a batch: the next one waits. */
  #isBatchOut = false;
  #reportDueMs = -Infinity;
  #now: Moment = { ms: 0, wallMs: 0 };

  constructor(plan: ThreadPlan, tell: (report: Report) => void) {
    this.#plan = plan;
    this.#tell = tell;
    this.#relay = plan.relay && new RelaySocket(plan.relay.address, plan.relay.port, this);
  }

  /** For poll(2). The same array until there are other ones. */
  get sockets(): readonly PolledSocket[] {
    this.#sockets ??= [...this.#ports.values(), ...(this.#relay === undefined ? [] : [this.#relay])];
    return this.#sockets;
  }

  /** When `turn` has something to do next. */
  get dueMs(): number {
    let due = this.#hasReport && !this.#isBatchOut ? this.#reportDueMs : Infinity;
    for (const port of this.#ports.values()) due = Math.min(due, port.dueMs);
    return due;
  }

  turn(now: Moment): void {
    this.#now = now;
    for (const port of this.#ports.values()) port.turn(now.ms);
    if (!this.#hasReport || this.#isBatchOut || now.ms < this.#reportDueMs) return;
    this.#isBatchOut = true;
    this.#reportDueMs = now.ms + reportEveryMs;
    const traces = [...this.#traces].filter(([, ring]) => !ring.isEmpty);
    this.#tell({
      kind: "batch",
      effects: this.#effects.take(),
      frames: this.#frames,
      traces: traces.map(([id, ring]) => ({ id, batch: ring.take() })),
    });
    this.#frames = [];
    this.#framesOf.clear();
  }

  obey(order: Order, now: Moment): void {
    this.#now = now;
    switch (order.kind) {
      case "link":
        return this.#setLink(order.link);
      case "delete-network":
        return this.#deleteNetwork(order.network);
      case "pool":
        return this.#network(order.network).setPool(unpackPool(order.pool));
      case "delete-pool":
        return this.#network(order.network).deletePool(order.pool);
      case "bindings":
        return this.#setBindings(order);
      case "quarantine":
        return this.#setQuarantine(order);
      case "answer":
        return this.#answer(order);
      case "probe":
        return this.#probe(order);
      case "forget-probe":
        return this.#links.get(order.network)?.probes.forget(order.id);
      case "count":
        return this.#count(order.id);
      case "trace":
        this.#traces.set(order.id, new TraceRing(order.options));
        return;
      case "end-trace":
        this.#traces.delete(order.id);
        return;
      case "send":
        return this.#send(order);
      case "taken":
        this.#isBatchOut = false;
        return;
      case "stop":
        return this.close();
    }
  }

  close(): void {
    for (const port of this.#ports.values()) port.close();
    this.#ports.clear();
    this.#relay?.close();
    libc.close(this.queries);
  }

  // Where links, ports and the relay socket bring what they have.

  effects(outcome: Outcome): void {
    for (const effect of outcome.effects) this.#effects.push(effect);
  }

  contested({ network, address, mac }: Contest): void {
    this.#tell({ kind: "contested", network, address: address.value, mac });
  }

  frame(network: string, frame: Uint8Array, isChecksumGiven: boolean): void {
    const sender = macKeyOf(frame.subarray(sourceAt));
    const [ofNetwork, ofSender] = [this.#framesOf.get(network) ?? 0, this.#framesOf.get(sender) ?? 0];
    if (this.#frames.length >= framesMax.all || ofNetwork >= framesMax.network || ofSender >= framesMax.sender) return;
    this.#framesOf.set(network, ofNetwork + 1).set(sender, ofSender + 1);
    this.#frames.push({ network, bytes: frame.slice(), isChecksumGiven });
  }

  traced(network: string, direction: "in" | "out", frame: Uint8Array, at?: number, reason?: SilenceReason): void {
    if (this.#traces.size === 0) return;
    for (const ring of this.#traces.values())
      ring.push(tracedFrame(this.#now.wallMs, network, direction, frame, reason), at);
  }

  report(report: LinkReport): void {
    this.#tell({ kind: "link", report });
  }

  get isTracing(): boolean {
    return this.#traces.size > 0;
  }

  hasLinkAround(address: number): boolean {
    if (address === 0) return true;
    for (const { network } of this.#links.values()) if (network.poolAround(address) !== undefined) return true;
    return false;
  }

  get #hasReport(): boolean {
    if (!this.#effects.isEmpty || this.#frames.length > 0) return true;
    for (const ring of this.#traces.values()) if (!ring.isEmpty) return true;
    return false;
  }

  #network(name: string): Network {
    let network = this.#networks.get(name);
    if (network === undefined) {
      network = new Network(name, this.#plan.rateLimit);
      this.#networks.set(name, network);
      this.server.setNetwork(network);
    }
    return network;
  }

  #answeredOf(network: string): AnsweredAddresses {
    let answered = this.#answered.get(network);
    if (answered === undefined) this.#answered.set(network, (answered = new AnsweredAddresses()));
    return answered;
  }

  #setLink(definition: LinkDefinition): void {
    const old = this.#links.get(definition.network);
    if (old !== undefined && isSameLink(old.definition, definition)) return;
    if (old !== undefined) this.#dropLink(old);
    const name = definition.interface;
    if (!isInterfaceName(name)) {
      const message = `${JSON.stringify(name)} is not the name of an interface, which has 1 to 15 bytes: correct it.`;
      return this.report({ network: definition.network, interface: name, state: "missing", message });
    }
    let port = this.#ports.get(name);
    if (port === undefined) {
      this.#ports.set(name, (port = new Port(name, this)));
      this.#sockets = undefined;
    }
    if (port.has(definition.vlan)) {
      const message = `Another network has ${name} already, with the same VLAN: give each network a link of its own.`;
      return this.report({ network: definition.network, interface: name, state: "refused", message });
    }
    const link = new Link(definition, this.#network(definition.network), this.#answeredOf(definition.network), this);
    this.#links.set(definition.network, link);
    port.add(link);
  }

  #dropLink(link: Link): void {
    this.#links.delete(link.definition.network);
    this.#failProbes(link, "its link was changed or removed");
    const port = this.#ports.get(link.definition.interface);
    port?.remove(link);
    if (!port?.isEmpty) return;
    this.#ports.delete(port.name);
    this.#sockets = undefined;
  }

  #deleteNetwork(name: string): void {
    const link = this.#links.get(name);
    if (link !== undefined) this.#dropLink(link);
    this.#networks.delete(name);
    this.#answered.delete(name);
    this.server.deleteNetwork(name);
  }

  #setBindings({ network, isReplacing, deleted, set }: Ordered<"bindings">): void {
    const { bindings } = this.#network(network);
    if (isReplacing) {
      const kept = new Set(set.addresses);
      for (const { address } of bindings.values()) if (!kept.has(address)) bindings.delete(address);
    }
    for (const address of deleted) bindings.delete(address);
    for (const binding of unpackBindings(set)) bindings.set(binding);
  }

  #setQuarantine({ network, address, untilMs }: Ordered<"quarantine">): void {
    const { quarantine } = this.#network(network);
    if (untilMs === undefined) quarantine.delete(address);
    else quarantine.add(address, untilMs);
  }

  #answer({ network, address, isOn }: Ordered<"answer">): void {
    const answered = this.#answeredOf(network);
    if (isOn) answered.add(address, this.#now.ms);
    else answered.delete(address);
  }

  #probe({ id, network, address, timeoutMs }: Ordered<"probe">): void {
    try {
      const link = this.#links.get(network);
      const port = link && this.#ports.get(link.definition.interface);
      if (link === undefined || !port?.isUp)
        throw new KernelError(
          "not-up",
          `Nothing can be asked on ${network}: its link is not up. Try again when it is.`,
        );
      link.probes.start(id, address, timeoutMs, this.#now.ms, (result) => this.#tell({ kind: "probed", id, result }));
    } catch (error) {
      this.#tell({ kind: "probe-failed", id, ...kernelFailure(error) });
    }
  }

  #failProbes(link: Link, why: string): void {
    const message = `A probe on ${link.definition.network} came to no end: ${why}. Probe again.`;
    link.probes.fail((id) => this.#tell({ kind: "probe-failed", id, code: "not-up", message }));
  }

  #send({ network, frame }: Ordered<"send">): void {
    const link = this.#links.get(network);
    const port = link && this.#ports.get(link.definition.interface);
    if (link === undefined || port === undefined || frame.length > frameBytesMax) return;
    port.outletOf(link)?.send(tagged(frame, link.definition.vlan));
    port.flush();
  }

  #count(id: number): void {
    const networks = new Map([["", countersOf(new Map([["", this.server.tally]]), 0)]]);
    for (const { name, tallies, bindings } of this.#networks.values())
      networks.set(name, countersOf(tallies, bindings.size));
    const sockets = new Map([...this.#ports.values()].map((port) => [port.name, port.counters()]));
    if (this.#relay !== undefined) sockets.set("relay", this.#relay.counters());
    this.#tell({ kind: "counted", id, counters: { networks, sockets } });
  }
}

/** Plain values, which can go to another thread. */
function countersOf(tallies: Network["tallies"], bindings: number): NetworkCounters {
  const pools = new Map(
    Array.from(tallies, ([pool, { received, replies, silences, faults }]) => [
      pool,
      { received, replies, silences, faults },
    ]),
  );
  return { bindings, pools };
}

function isSameLink(one: LinkDefinition, other: LinkDefinition): boolean {
  return (
    one.interface === other.interface &&
    one.vlan === other.vlan &&
    one.acceptRelays === other.acceptRelays &&
    one.ipv6 === other.ipv6 &&
    String(one.groups ?? []) === String(other.groups ?? [])
  );
}

function tagged(frame: Uint8Array, vlan: number | undefined): Uint8Array {
  if (vlan === undefined) return frame;
  return Uint8Array.of(...frame.subarray(0, 12), 0x81, 0, vlan >> 8, vlan & 0xff, ...frame.subarray(12));
}
