// The addresses of one link that this wire answers for: who asks by ARP gets the interface's MAC. They are announced
// when they are taken, and defended when another host says that it has one (RFC 5227 sections 2.3 and 2.4).

import { type Arp, arpAnnouncement, arpReply, operation } from "../../frame/arp.ts";

/** What a link sends with. The MAC is the interface's, and may change. */
export interface Outlet {
  readonly mac: Uint8Array;
  readonly vlan: number | undefined;
  /** The frame is taken at once; it may be lost. */
  send(frame: Uint8Array): void;
}

/** ANNOUNCE_NUM is 2, and one more: a switch that has just opened a port loses the first. */
const announcements = 3;
const announceEveryMs = 1000;
/** DEFEND_INTERVAL. */
const defendEveryMs = 10_000;

interface Answer {
  /** Announcements still to be sent. */
  left: number;
  dueMs: number;
  defendedMs: number;
}

export class AnsweredAddresses {
  /** Key: the address. As many as there are pools. */
  readonly #answers = new Map<number, Answer>();

  has(address: number): boolean {
    return this.#answers.has(address);
  }

  add(address: number, nowMs: number): void {
    if (this.#answers.has(address)) return;
    this.#answers.set(address, { left: announcements, dueMs: nowMs, defendedMs: -Infinity });
  }

  delete(address: number): void {
    this.#answers.delete(address);
  }

  /** The link is back: its neighbours may have learned something else meanwhile. */
  announceAgain(nowMs: number): void {
    for (const answer of this.#answers.values()) {
      answer.left = announcements;
      answer.dueMs = nowMs;
    }
  }

  /** When `announce` has something to do next. */
  get dueMs(): number {
    let due = Infinity;
    for (const { left, dueMs } of this.#answers.values()) if (left > 0) due = Math.min(due, dueMs);
    return due;
  }

  announce(outlet: Outlet, nowMs: number): void {
    for (const [address, answer] of this.#answers) {
      if (answer.left === 0 || answer.dueMs > nowMs) continue;
      answer.left -= 1;
      answer.dueMs = nowMs + announceEveryMs;
      outlet.send(arpAnnouncement(outlet.mac, address, outlet.vlan));
    }
  }

  /** Answers, and defends. Returns the address that the sender contests, as often as it is defended. */
  hear(arp: Arp, outlet: Outlet, nowMs: number): number | undefined {
    const contested = arp.senderAddress === 0 ? undefined : this.#answers.get(arp.senderAddress);
    if (contested !== undefined) {
      if (nowMs - contested.defendedMs < defendEveryMs) return undefined;
      contested.defendedMs = nowMs;
      outlet.send(arpAnnouncement(outlet.mac, arp.senderAddress, outlet.vlan));
      return arp.senderAddress;
    }
    if (arp.operation === operation.request && this.#answers.has(arp.targetAddress))
      outlet.send(arpReply(outlet.mac, arp.targetAddress, arp, outlet.vlan));
    return undefined;
  }
}
