// What the nodes' daemons say on their switches, each by its own port: of VMs that have moved, and of VMs' routers.
import { setTimeout as pause } from "node:timers/promises";

import {
  announceAtMs,
  type Announcement,
  announcementsOf,
  type Move,
  type Neighbour,
} from "../../../../src/migration/neighbours/announcements.ts";
import type { ZoneNode } from "../../../../src/ovn/zone/zone.ts";
import { together } from "../../wait.ts";
import type { OvnLab } from "../lab.ts";
import type { PlayedVm } from "./played-vm.ts";
import { Speaker } from "./speaker.ts";

/** Nobody here hears a guest ask. */
const routerEveryMs = 1000;

export class Heralds {
  /** Key: the node's name. */
  readonly #speakers: Map<string, Speaker>;
  /** Key: the VM's name. */
  readonly #saying = new Map<string, AbortController>();
  readonly #said: Promise<void>[] = [];
  readonly #closing = new AbortController();

  private constructor(speakers: Map<string, Speaker>) {
    this.#speakers = speakers;
  }

  static async open(lab: OvnLab, nodes: readonly ZoneNode[], signal?: AbortSignal): Promise<Heralds> {
    const tasks = nodes.map((node) => async (limit: AbortSignal) => {
      return [node.name, await Speaker.open(lab.node(node.name), node, limit)] as const;
    });
    return new Heralds(new Map(await together(tasks, signal)));
  }

  /** As often as daemons would, until the VM moves again. */
  announce(move: Move, neighbours: Iterable<Neighbour>): void {
    const all = announcementsOf(move, neighbours);
    if (all.length === 0) return;
    this.#saying.get(move.to.name)?.abort();
    const saying = new AbortController();
    this.#saying.set(move.to.name, saying);
    this.#said.push(this.#say(all, saying.signal));
  }

  /** From here on every VM hears of its router again and again, by the node where it is. */
  sayRouters(vms: () => readonly PlayedVm[]): void {
    this.#said.push(this.#sayRouters(vms));
  }

  async leave(node: string): Promise<void> {
    await this.#speakers.get(node)?.close();
    this.#speakers.delete(node);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const saying of this.#saying.values()) saying.abort();
    await Promise.allSettled(this.#said);
    await Promise.allSettled([...this.#speakers.values()].map((speaker) => speaker.close()));
  }

  async #say(all: readonly Announcement[], signal: AbortSignal): Promise<void> {
    let spentMs = 0;
    for (const atMs of announceAtMs) {
      try {
        await pause(atMs - spentMs, undefined, { signal });
      } catch {
        return; // it has moved again, or the lab ends
      }
      spentMs = atMs;
      for (const speaker of this.#speakers.values()) speaker.say(all);
    }
  }

  async #sayRouters(vms: () => readonly PlayedVm[]): Promise<void> {
    while (!this.#closing.signal.aborted) {
      for (const { placement, launchers } of vms())
        this.#speakers.get(placement?.activeNode ?? "")?.sayRouter(launchers.vm.network.mac);
      await pause(routerEveryMs, undefined, { signal: this.#closing.signal }).catch(() => {});
    }
  }
}
