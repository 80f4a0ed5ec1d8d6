// What goes wrong around the users of a random world: controllers and daemons that die, answers and watch events that
// are lost, nodes that fall silent and come back.
import { setTimeout as pause } from "node:timers/promises";

import type { Launcher } from "./kubevirt/launcher.ts";
import { losePods, setOutOfService, setReady } from "./kubevirt/nodes.ts";
import type { Actor } from "./random-actor.ts";
import type { RandomFixture } from "./random-fixture.ts";
import type { Gate } from "./random-gate.ts";
import type { FixtureNode } from "./random-nodes.ts";
import type { Chance } from "./random-source.ts";

export interface FaultOptions {
  readonly fixture: RandomFixture;
  readonly chance: Chance;
  readonly actors: readonly Actor[];
  readonly gate: Gate;
  /** Forgets the history of the server, so that broken watches must list again; undefined: it has no such button. */
  readonly compact?: (() => void) | undefined;
}

export class Faults {
  readonly #options: FaultOptions;
  /** The one that is lost now, with the sandboxes that it took along. */
  #lost: { readonly node: FixtureNode; readonly buried: readonly Launcher[]; readonly isOut: boolean } | undefined;

  constructor(options: FaultOptions) {
    this.#options = options;
  }

  /** One fault, and its end. Says which. */
  async step(): Promise<string> {
    const { chance } = this.#options;
    const what = chance.weighed([
      [4, "kill the controller"],
      [3, "kill a daemon"],
      [2, "cut a daemon off"],
      [2, "lose answers"],
      [3, "bad watches"],
      [1, "forget the history"],
      [4, this.#lost === undefined ? "lose a node" : "return a node"],
    ] as const);
    await this.#acts[what]();
    return what;
  }

  async end(): Promise<void> {
    if (this.#lost !== undefined) await this.#return();
    await this.#options.fixture.heal();
  }

  readonly #acts = {
    "kill the controller": async () => {
      const { fixture, chance } = this.#options;
      await fixture.killLeader();
      // Now and then long enough for VMs to end and come back under the same name while nobody cleans up.
      await this.#while(chance.percent(40) ? 4000 : 300);
      fixture.lead();
    },
    "kill a daemon": async () => {
      const { fixture, chance } = this.#options;
      const node = chance.pick(fixture.nodes.ready);
      await fixture.nodes.kill(node);
      await this.#while(300);
      await fixture.nodes.revive(node);
    },
    "cut a daemon off": async () => {
      const { line } = this.#options.chance.pick(this.#options.fixture.nodes.ready);
      line.cut();
      await this.#while(400);
      line.heal();
    },
    "lose answers": async () => {
      const { fixture, chance } = this.#options;
      const lines = [
        ...fixture.nodes.ready.map(({ line }) => line),
        ...(fixture.leader === undefined ? [] : [fixture.leader.line]),
      ];
      const line = chance.pick(lines);
      line.lossPercent = 30;
      await this.#while(400);
      line.lossPercent = 0;
    },
    "bad watches": async () => {
      Object.assign(this.#options.fixture.weather, { breakPercent: 10, delayMs: 60 });
      await this.#while(600);
      Object.assign(this.#options.fixture.weather, { breakPercent: 0, delayMs: 0 });
    },
    "forget the history": async () => this.#options.compact?.(),
    "lose a node": () => this.#lose(),
    "return a node": () => this.#return(),
  };

  /**
   * Its daemon dies, its pods are force-deleted: by pod GC after an operator's taint, or by somebody who does not say
   * what runs there. The VMs start elsewhere.
   */
  async #lose(): Promise<void> {
    const { fixture, chance, actors, gate } = this.#options;
    if (fixture.nodes.ready.length < 3) return;
    await gate.alone(async () => {
      const node = chance.pick(fixture.nodes.ready);
      const isOut = chance.percent(50);
      node.isReady = false;
      await fixture.nodes.kill(node);
      await setReady(fixture.admin, node.name, "Unknown");
      if (isOut) await setOutOfService(fixture.admin, node.name, true);
      const buried: Launcher[] = [];
      for (const actor of actors) {
        const { machine } = actor;
        if (machine === undefined) continue;
        buried.push(...(machine.instance?.launchers ?? []).filter((each) => each.node === node.name));
        if (await losePods(fixture.kubevirt, machine, node.name, isOut)) actor.lost();
      }
      this.#lost = { node, buried, isOut };
    });
  }

  async #return(): Promise<void> {
    const { fixture, gate } = this.#options;
    await gate.alone(async () => {
      if (this.#lost === undefined) return;
      const { node, buried, isOut } = this.#lost;
      this.#lost = undefined;
      if (isOut) await setOutOfService(fixture.admin, node.name, false);
      await setReady(fixture.admin, node.name, "True");
      await fixture.nodes.revive(node);
      node.isReady = true;
      for (const launcher of buried) await fixture.kubevirt.virt.kubelet.bury(launcher);
    });
  }

  #while(mostMs: number): Promise<void> {
    return pause(this.#options.chance.below(mostMs));
  }
}
