// One interface: its packet socket while there is one, and the links on it by VLAN. It follows the interface: down, up,
// gone, made anew with another number or MAC.
import { ethernetBytes, etherType, tagBytes } from "../../frame/ethernet.ts";
import { type Device, deviceOf } from "../../linux/device.ts";
import { libc, kernelFailure } from "../../linux/libc.ts";
import { type Mac, macFromBytes, macToBytes } from "../../net/mac.ts";
import { payloadAt } from "../frame/frame.ts";
import type { ReplyWriter } from "../server/send.ts";
import { acceptsRouters } from "./accepts-routers.ts";
import type { LinkReport, LinkState, SocketCounters } from "./interface.ts";
import type { Link, LinkSink, Moment, ReplyOutlet } from "./link.ts";
import { droppedFrames, openPacketSocket } from "./packet-socket.ts";
import { batchMessages, type ReceiveBatch } from "./receive-batch.ts";
import type { SendBatch } from "./send-batch.ts";

/** How often the interface is looked at: while frames flow, and while they do not. */
const lookEveryMs = 1000;
const lookOftenMs = 250;
/** Batches in one turn, so that a flood on one interface does not keep the others waiting: 256 frames. */
const batchesPerTurn = 4;

/** What all ports of a thread share. */
export interface PortContext {
  readonly incoming: ReceiveBatch;
  readonly outgoing: SendBatch;
  readonly queries: number;
  readonly sink: LinkSink;
  report(report: LinkReport): void;
}

export class Port {
  readonly name: string;
  readonly #context: PortContext;
  /** Key: the VLAN; 0 for frames without a tag. */
  readonly #links = new Map<number, { readonly link: Link; readonly outlet: LinkOutlet }>();
  /** -1: none. */
  #fd = -1;
  #device: Device | undefined;
  #state: LinkState = "missing";
  #message = "";
  /** Of all links with IPv6; undefined: none has it. */
  #groups: readonly Mac[] | undefined;
  #acceptsRouters = false;
  #lookDueMs = -Infinity;
  #received = 0;
  #sent = 0;
  #failed = 0;
  #dropped = 0;
  #ignored = 0;

  constructor(name: string, context: PortContext) {
    this.name = name;
    this.#context = context;
  }

  get fd(): number {
    return this.#fd;
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  get isEmpty(): boolean {
    return this.#links.size === 0;
  }

  get mac(): Uint8Array {
    return this.#device?.mac ?? nobody;
  }

  get dueMs(): number {
    let due = this.#lookDueMs;
    for (const { link } of this.#links.values()) due = Math.min(due, link.answered.dueMs, link.probes.dueMs);
    return due;
  }

  add(link: Link): void {
    this.#links.set(link.definition.vlan ?? 0, { link, outlet: new LinkOutlet(this, link, this.#context) });
    const { isIpv6, groups } = this.#ipv6();
    const isSame = isIpv6 === (this.#groups !== undefined) && String(groups) === String(this.#groups ?? []);
    if (!isSame) this.#close(); // the filter is another: it is opened anew at the next look
    this.#groups = isIpv6 ? groups : undefined;
    this.#lookDueMs = -Infinity;
    if (this.#message !== "") this.#report(link);
  }

  #ipv6(): { readonly isIpv6: boolean; readonly groups: readonly Mac[] } {
    const definitions = Array.from(this.#links.values(), ({ link }) => link.definition).filter(({ ipv6 }) => ipv6);
    const groups = new Set(definitions.flatMap((each) => each.groups ?? []));
    return { isIpv6: definitions.length > 0, groups: [...groups].sort() };
  }

  remove(link: Link): void {
    this.#links.delete(link.definition.vlan ?? 0);
    if (this.isEmpty) this.#close();
  }

  has(vlan: number | undefined): boolean {
    return this.#links.has(vlan ?? 0);
  }

  outletOf(link: Link): ReplyOutlet | undefined {
    return this.#links.get(link.definition.vlan ?? 0)?.outlet;
  }

  receive(now: Moment): void {
    const { incoming } = this.#context;
    for (let turn = 0; turn < batchesPerTurn; turn++) {
      if (this.#fd < 0) return;
      const count = incoming.receive(this.#fd);
      // EAGAIN is the end of it; after ENETDOWN and the like the interface is looked at.
      if (count < 0) return;
      for (let i = 0; i < count; i++) this.#take(incoming, i, now);
      incoming.done(count);
      this.#received += count;
      this.flush();
      if (count < batchMessages) return;
    }
  }

  trouble({ ms }: Moment): void {
    this.#look(ms);
  }

  #take(incoming: ReceiveBatch, index: number, now: Moment): void {
    const frame = incoming.frame(index);
    if (frame.length < ethernetBytes + tagBytes) return;
    let vlan = incoming.vlan(index);
    let type = (frame[12]! << 8) | frame[13]!;
    let at = ethernetBytes;
    if (type === etherType.tag) {
      // A tag within a tag belongs to nobody here.
      if (vlan === 0) vlan = ((frame[14]! & 0x0f) << 8) | frame[15]!;
      else type = 0;
      if (type !== 0) type = (frame[16]! << 8) | frame[17]!;
      at += tagBytes;
    }
    const found = this.#links.get(vlan);
    if (found === undefined) this.#ignored += 1;
    else found.link.receive(frame, type, at, incoming.isChecksumGiven(index), found.outlet, now);
  }

  send(frame: Uint8Array): void {
    if (this.#fd < 0) {
      this.#failed += 1;
      return;
    }
    this.#context.outgoing.addFrame(frame);
    if (this.#context.outgoing.isFull) this.flush();
  }

  flush(): void {
    const { outgoing } = this.#context;
    const { count } = outgoing;
    if (count === 0) return;
    const sent = outgoing.flush(this.#fd);
    this.#sent += sent;
    this.#failed += count - sent;
  }

  /** Announcements, probes, and a look at the interface. */
  turn(nowMs: number): void {
    if (nowMs >= this.#lookDueMs) this.#look(nowMs);
    if (!this.isUp) return;
    for (const { link, outlet } of this.#links.values()) {
      link.answered.announce(outlet, nowMs);
      link.probes.turn(outlet, nowMs);
    }
    this.flush();
  }

  counters(): SocketCounters {
    if (this.#fd >= 0) this.#dropped += droppedFrames(this.#fd);
    let ignored = this.#ignored;
    for (const { link } of this.#links.values()) ignored += link.ignored;
    return {
      framesReceived: this.#received,
      framesSent: this.#sent,
      droppedByKernel: this.#dropped,
      sendsFailed: this.#failed,
      ignored,
    };
  }

  close(): void {
    this.#close();
  }

  #look(nowMs: number): void {
    const socket = this.#fd;
    const { state, message } = this.#follow();
    const accepts = state === "up" && this.#groups !== undefined && acceptsRouters(this.name);
    this.#lookDueMs = nowMs + (state === "up" || state === "refused" ? lookEveryMs : lookOftenMs);
    const isSame = state === this.#state && message === this.#message && socket === this.#fd;
    if (isSame && accepts === this.#acceptsRouters) return;
    this.#acceptsRouters = accepts;
    this.#state = state;
    this.#message = message;
    for (const { link } of this.#links.values()) {
      if (state === "up" && !isSame) link.answered.announceAgain(nowMs);
      this.#report(link);
    }
  }

  /** Opens and closes the socket as the interface comes and goes. */
  #follow(): { state: LinkState; message: string } {
    try {
      const device = deviceOf(this.#context.queries, this.name);
      // With another MAC neighbours ask elsewhere, too.
      const isMoved = this.#groups !== undefined && String(device?.mac) !== String(this.#device?.mac);
      const isOther = device?.index !== this.#device?.index || isMoved;
      this.#device = device;
      if (device === undefined || isOther) this.#close();
      if (device === undefined) {
        const message = `There is no interface ${this.name}: it went away, or is not made yet.`;
        return { state: "missing", message };
      }
      if (this.#fd < 0) this.#fd = openPacketSocket(this.name, device, this.#groups?.map(macToBytes));
      const mac = macFromBytes(device.mac);
      if (device.isUp) return { state: "up", message: `The interface ${this.name} is up, with the MAC ${mac}.` };
      return { state: "down", message: `The interface ${this.name} is down, or has no carrier: set it up.` };
    } catch (error) {
      this.#close();
      const { code, message } = kernelFailure(error);
      return { state: code === "no-interface" || code === "not-ethernet" ? "missing" : "refused", message };
    }
  }

  #report(link: Link): void {
    const { network } = link.definition;
    const mac = this.#device === undefined ? {} : { mac: macFromBytes(this.#device.mac) };
    const accepts = this.#acceptsRouters && link.definition.ipv6 ? { acceptsRouters: true } : {};
    const about = { network, interface: this.name, state: this.#state };
    this.#context.report({ ...about, ...mac, ...accepts, message: this.#message });
  }

  #close(): void {
    if (this.#fd < 0) return;
    this.#dropped += droppedFrames(this.#fd);
    libc.close(this.#fd);
    this.#fd = -1;
    this.#context.outgoing.clear();
  }
}

const nobody = new Uint8Array(6);

class LinkOutlet implements ReplyOutlet {
  readonly vlan: number | undefined;
  readonly #port: Port;
  readonly #network: string;
  readonly #context: PortContext;

  constructor(port: Port, link: Link, context: PortContext) {
    this.vlan = link.definition.vlan;
    this.#port = port;
    this.#network = link.definition.network;
    this.#context = context;
  }

  get mac(): Uint8Array {
    return this.#port.mac;
  }

  get writer(): ReplyWriter {
    return this.#context.outgoing.writer;
  }

  send(frame: Uint8Array): void {
    const at = this.vlan === undefined ? payloadAt - tagBytes : payloadAt;
    this.#context.sink.traced(this.#network, "out", frame, at);
    this.#port.send(frame);
  }
}
