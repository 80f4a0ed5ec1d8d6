// One VM: its network config is made or brought up to date, as src/vmnet/plan/machine-plan.ts says. One guarded write.
import * as kinds from "../../cluster/resources.ts";
import type { ObjectKey } from "../../kube/meta.ts";
import { unless } from "../../kube/unless.ts";
import { planMachine } from "../plan/machine-plan.ts";
import type { Config, VmnetCaches } from "./caches.ts";
import type { Networks } from "./networks.ts";
import type { VmnetOptions } from "./options.ts";

export interface MachinesOptions extends Pick<VmnetOptions, "client" | "log" | "metrics"> {
  readonly caches: VmnetCaches;
  readonly networks: Networks;
}

export class Machines {
  readonly #options: MachinesOptions;

  constructor(options: MachinesOptions) {
    this.#options = options;
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { client, caches, networks, log, metrics } = this.#options;
    const vm = caches.machines.cache.get(key);
    if (vm === undefined) return;
    const step = planMachine({
      vm,
      vmi: caches.instances.cache.get(key),
      configs: this.#configsOf(key),
      isManaged: (network) => networks.isManaged(network),
    });
    if (step.kind === "none") return;
    if (step.kind === "update") {
      await client.update(kinds.networkConfigs, step.config, { signal });
      metrics?.did("merge");
      return;
    }
    // There already: the watch shows it, and wakes this VM.
    const made = await unless(["already-exists"], client.create(kinds.networkConfigs, step.config, { signal }));
    if (made === undefined) return;
    metrics?.did("create");
    log.info("made the network config of a VM", { vm: key });
  }

  #configsOf(key: ObjectKey): Config[] {
    const { cache } = this.#options.caches.configs;
    const named = cache.get(key);
    return [...new Set([...(named === undefined ? [] : [named]), ...cache.byIndex("vm", key)])];
  }
}
