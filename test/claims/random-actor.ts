// The user of one VM name, who does whatever comes to mind; and what KubeVirt makes of it. One thing at a time, but an
// attachment that takes its time is not waited for: the next thing may come in between.
import { setTimeout as pause } from "node:timers/promises";

import type { KubeClient } from "../../src/kube/rest.ts";
import { claims } from "./claim-objects.ts";
import { edit, remove } from "./kubevirt/edit.ts";
import type { Kubevirt, Policy } from "./kubevirt/kubevirt.ts";
import type { Machine } from "./kubevirt/machine.ts";
import type { Migration } from "./kubevirt/migration.ts";
import { type Doing, type NicsOptions, RandomNics } from "./random-nics.ts";

export interface ActorOptions extends NicsOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
}

type Action = () => Promise<void>;
type Choice = readonly [weight: number, what: string];

const policies: readonly Policy[] = ["Background", "Foreground", "Orphan"];
/** So long an attachment is waited for before something else is done, at most. */
const patienceMs = 400;

/** What is no step: nothing was done. */
export const waiting = "wait";

export class Actor {
  readonly #options: ActorOptions;
  readonly #nics: RandomNics;
  machine: Machine | undefined;
  /** A start whose pod may not have its addresses yet. */
  #starting: Promise<void> | undefined;
  #isLost = false;
  readonly errors: Error[] = [];

  constructor(options: ActorOptions) {
    this.#options = options;
    this.#nics = new RandomNics(options);
  }

  get name(): string {
    return `${this.#options.namespace}/${this.#options.name}`;
  }

  /** One thing. Says which. */
  async step(): Promise<string> {
    const what = this.#options.chance.weighed(this.#choices());
    try {
      await this.#actions[what]?.();
    } catch (error) {
      this.errors.push(new Error(`${this.name}: ${what}: ${(error as Error).message}`, { cause: error }));
    }
    return what;
  }

  /** Its pods are gone with their node: the VM starts anew, elsewhere; a VMI without a VM is over. */
  lost(): void {
    const machine = this.#its;
    this.#isLost = machine.instance !== undefined;
  }

  /** What was begun has come to its end, or it never will. */
  async settle(limitMs: number): Promise<void> {
    if (this.#starting === undefined) return;
    const stop = new AbortController();
    const late = pause(limitMs, "late", { signal: stop.signal }).catch(() => "late");
    const first = await Promise.race([this.#starting, late]);
    stop.abort();
    if (first === "late") this.errors.push(new Error(`${this.name} has not got its addresses after ${limitMs} ms`));
  }

  /** All of it goes. */
  async end(): Promise<void> {
    const { machine } = this;
    if (machine === undefined) return;
    await this.#options.kubevirt.delete(machine);
    await this.#starting;
    this.machine = undefined;
  }

  #choices(): readonly Choice[] {
    const { machine } = this;
    if (this.#starting !== undefined) {
      const pending = machine?.instance?.active;
      const canStop = pending?.phase === "Pending" && pending.node !== "" && machine?.vmUid !== undefined;
      return canStop
        ? [
            [6, waiting],
            [2, "stop"],
            [1, "delete"],
          ]
        : [[1, waiting]];
    }
    if (this.#isLost) return [[1, "recover"]];
    if (machine === undefined)
      return [
        [8, "create and start"],
        [2, "create"],
        [2, "create alone"],
      ];
    if (machine.instance === undefined)
      return [
        [8, "start"],
        [2, "delete"],
        [1, "plug"],
        [1, "unplug"],
        [1, "delete claims"],
      ];
    if (machine.vmUid === undefined)
      return [
        [3, "adopt"],
        [2, "migrate"],
        [1, "fail to migrate"],
        [2, "delete"],
      ];
    return [
      [3, "stop"],
      [2, "restart"],
      [1, "crash"],
      [1, "delete pod"],
      [2, "force pod"],
      [4, "migrate"],
      [2, "fail to migrate"],
      [2, "abort a migration"],
      [1, "evict"],
      [2, "plug"],
      [2, "unplug"],
      [1, "swap"],
      [3, "delete"],
      [1, "delete while migrating"],
      [1, "delete claims"],
      [1, "force claims away"],
    ];
  }

  readonly #actions: Readonly<Record<string, Action>> = {
    create: async () => void (this.machine = await this.#kubevirt.create(this.#spec())),
    "create and start": async () => {
      this.machine = await this.#kubevirt.create(this.#spec());
      await this.#begin(this.#kubevirt.start(this.machine));
    },
    "create alone": async () => {
      const { kubevirt } = this.#options;
      await this.#begin(kubevirt.createAlone(this.#spec(), (machine) => void (this.machine = machine)));
    },
    [waiting]: () => this.#wait(),
    recover: async () => {
      this.#isLost = false;
      if (this.#its.vmUid === undefined) await this.#delete("Background");
      else await this.#begin(this.#kubevirt.restart(this.#its));
    },
    start: () => this.#begin(this.#kubevirt.start(this.#its)),
    stop: () => this.#ended(this.#kubevirt.stop(this.#its)),
    restart: () => this.#begin(this.#kubevirt.restart(this.#its)),
    crash: () => this.#begin(this.#kubevirt.crash(this.#its)),
    "delete pod": () => this.#begin(this.#kubevirt.deletePod(this.#its)),
    "force pod": () => this.#begin(this.#kubevirt.forcePod(this.#its)),
    adopt: async () => {
      const { namespace, name } = this.#options;
      await this.#kubevirt.create({ namespace, name, nics: this.#nics.present }, this.#its);
    },
    migrate: async () => this.#move(await this.#kubevirt.migrate(this.#its)),
    evict: async () => this.#move(await this.#kubevirt.evict(this.#its)),
    "fail to migrate": async () => {
      const migration = await this.#kubevirt.migrate(this.#its);
      if (!(await this.#handedOver(migration))) return;
      await migration.fail(this.#options.chance.pick(["exits", "is deleted", "is forced"] as const));
    },
    "abort a migration": async () => {
      const migration = await this.#kubevirt.migrate(this.#its);
      const over = migration.handOver();
      await Promise.race([over, pause(this.#options.chance.below(30))]);
      await migration.abort();
      await over;
    },
    plug: () => this.#nics.plug(this.#its, this.#doing),
    unplug: () => this.#nics.unplug(this.#its, this.#doing),
    swap: () => this.#nics.swap(this.#its, this.#doing),
    delete: () => this.#delete(this.#options.chance.pick(policies)),
    "delete while migrating": async () => {
      const migration = await this.#kubevirt.migrate(this.#its);
      const over = migration.handOver();
      await Promise.race([over, pause(this.#options.chance.below(40))]);
      await this.#delete(this.#options.chance.pick(["Background", "Foreground"]));
      await over;
      await migration.orphaned();
    },
    "delete claims": () => this.#tamper(false),
    "force claims away": () => this.#tamper(true),
  };

  get #kubevirt(): Kubevirt {
    return this.#options.kubevirt;
  }

  get #its(): Machine {
    if (this.machine === undefined) throw new Error(`there is no ${this.name}`);
    return this.machine;
  }

  readonly #doing: Doing = {
    move: (migration) => this.#move(migration),
    begin: (work) => this.#begin(work),
  };

  #spec() {
    const { chance, namespace, name } = this.#options;
    const scheme = chance.percent(15) ? ("ordinal" as const) : ("hashed" as const);
    return { namespace, name, nics: this.#nics.draw(), scheme };
  }

  async #wait(): Promise<void> {
    await Promise.race([this.#starting, pause(this.#options.chance.below(patienceMs))]);
  }

  /** A start that is waited for a while. */
  async #begin(start: Promise<unknown>): Promise<void> {
    const work = start.then(
      () => (this.machine === undefined ? undefined : this.#nics.forget(this.machine)),
      (error: unknown) =>
        void this.errors.push(new Error(`${this.name}: ${(error as Error).message}`, { cause: error })),
    );
    const tracked = work.finally(() => {
      if (this.#starting === tracked) this.#starting = undefined;
    });
    this.#starting = tracked;
    await this.#wait();
  }

  async #ended(work: Promise<void>): Promise<void> {
    await work;
    await this.#starting;
  }

  async #delete(policy: Policy): Promise<void> {
    const machine = this.#its;
    await this.#kubevirt.delete(machine, policy);
    const isLeft = machine.instance !== undefined;
    if (!isLeft) await this.#starting;
    if (!isLeft) this.machine = undefined;
  }

  /** False where the target did not get its addresses in time, and the migration was given up. */
  async #handedOver(migration: Migration): Promise<boolean> {
    const over = migration.handOver();
    const first = await Promise.race([over, pause(10 * patienceMs, "late")]);
    if (first === true) return true;
    await migration.abort();
    await over;
    return false;
  }

  async #move(migration: Migration): Promise<void> {
    if (!(await this.#handedOver(migration))) return;
    await migration.succeed();
    await this.#nics.forget(this.#its);
  }

  /** A user who deletes claims; by force: with the finalizers, too. */
  async #tamper(byForce: boolean): Promise<void> {
    const { client, namespace, name } = this.#options;
    const { items } = await client.list(claims, { namespace });
    for (const { metadata } of items.filter((each) => each.metadata.name?.startsWith(`${name}.`))) {
      const at = { namespace, name: metadata.name ?? "" };
      await remove(client, claims, at, { uid: metadata.uid ?? "" });
      if (!byForce) continue;
      await edit(client, claims, at, (claim) => {
        if (claim.metadata.uid !== metadata.uid) return false;
        claim.metadata.finalizers = [];
        return true;
      });
    }
  }
}
