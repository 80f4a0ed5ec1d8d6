// Probes for addresses on one link: three questions, the last with half of the time left for its answer (RFC 5227
// section 2.1.1; the caller says how long, since the RFC's 4 to 8 seconds are long for a takeover).
import { type Arp, arpProbe, operation } from "../../frame/arp.ts";
import { KernelError } from "../../linux/libc.ts";
import { type Mac, macFromBytes } from "../../net/mac.ts";
import type { Outlet } from "./answered.ts";
import type { ProbeResult } from "./interface.ts";

/** As parts of the time there is: a frame or its answer may be lost. */
const askAt = [0, 0.25, 0.5] as const;
/** A takeover asks for one address of each pool, a new binding for its own. */
const probesMax = 256;

interface Probe {
  readonly address: number;
  readonly startMs: number;
  readonly timeoutMs: number;
  asked: number;
  readonly answer: (result: ProbeResult) => void;
}

export class Probes {
  /** Key: the caller's. */
  readonly #probes = new Map<number, Probe>();

  start(id: number, address: number, timeoutMs: number, nowMs: number, answer: Probe["answer"]): void {
    if (this.#probes.size >= probesMax)
      throw new KernelError("busy", `${probesMax} probes are under way on this link: try again when they have ended.`);
    this.#probes.set(id, { address, startMs: nowMs, timeoutMs, asked: 0, answer });
  }

  forget(id: number): void {
    this.#probes.delete(id);
  }

  /** The link is gone: silence would say nothing. */
  fail(fail: (id: number) => void): void {
    for (const id of this.#probes.keys()) fail(id);
    this.#probes.clear();
  }

  get dueMs(): number {
    let due = Infinity;
    for (const { startMs, timeoutMs, asked } of this.#probes.values())
      due = Math.min(due, startMs + timeoutMs * (askAt[asked] ?? 1));
    return due;
  }

  turn(outlet: Outlet, nowMs: number): void {
    for (const [id, probe] of this.#probes) {
      const { address, startMs, timeoutMs, asked, answer } = probe;
      if (nowMs >= startMs + timeoutMs && asked === askAt.length) {
        this.#probes.delete(id);
        answer({ kind: "silent" });
      } else if (nowMs >= startMs + timeoutMs * (askAt[asked] ?? 1)) {
        probe.asked += 1;
        outlet.send(arpProbe(outlet.mac, address, outlet.vlan));
      }
    }
  }

  /** Any packet from the address counts, and another's probe for it; our own, come back over a loop, does not. */
  hear(arp: Arp, own: Uint8Array): void {
    if (this.#probes.size === 0) return;
    const mac = otherMac(arp.senderMac, own);
    if (mac === undefined) return;
    for (const [id, { address, answer }] of this.#probes) {
      const isAnothersProbe = arp.operation === operation.request && arp.senderAddress === 0;
      if ((isAnothersProbe ? arp.targetAddress : arp.senderAddress) !== address) continue;
      this.#probes.delete(id);
      answer({ kind: "in-use", mac });
    }
  }
}

/** Not ours, and one that an interface can have. */
function otherMac(bytes: Uint8Array, own: Uint8Array): Mac | undefined {
  const isOwn = bytes.every((byte, index) => byte === own[index]);
  return isOwn || bytes.every((byte) => byte === 0) ? undefined : macFromBytes(bytes);
}
