// A node's daemon says on its own Node what the leader builds the topology from: which chassis the machine is, and its
// gateway. Level-based: what the Node says is compared with what the machine is, at every change and once a minute.
import { type Node, nodes } from "../../cluster/resources.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import { Controller } from "../../kube/queue/controller.ts";
import { chassisAnnotation, gatewayAnnotation } from "../topology/node-facts.ts";
import type { Chassis } from "./chassis.ts";
import type { NodeSideOptions } from "./side.ts";

/** Addresses and routes of the machine change without any event here. */
const lookEveryMs = 60_000;

export interface MachineTellerOptions extends Pick<NodeSideOptions, "client" | "clock" | "log" | "node" | "gateway"> {
  readonly nodes: Informer<Node>;
  readonly chassis: Pick<Chassis, "name" | "mappings" | "handle">;
}

export class MachineTeller {
  readonly #options: MachineTellerOptions;
  readonly #controller: Controller;
  #told = "";

  constructor(options: MachineTellerOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#controller = new Controller({
      name: "machine",
      clock,
      reconcile: async (_, { signal }) => {
        await this.#tell(signal);
        return { requeueAfterMs: lookEveryMs };
      },
      onError: (error) => log.warn("what this machine is could not be said on its Node; it is tried again", { error }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { node, nodes: followed, chassis } = this.#options;
    const wake = () => this.#controller.enqueue(node);
    const ends = [
      chassis.handle(wake),
      followed.handle(({ object }) => {
        if (object.metadata.name === node) wake();
      }),
    ];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
    wake();
    await this.#controller.run(signal);
  }

  async #tell(signal: AbortSignal): Promise<void> {
    const { client, node: name, nodes: followed, chassis, log, gateway } = this.#options;
    const node = followed.cache.get(name);
    if (node === undefined || chassis.name === undefined) return;
    const found = gateway?.(chassis.mappings);
    if (found !== undefined && "why" in found && found.why !== this.#told) {
      this.#told = found.why;
      log.warn(found.why);
    }
    const wanted = {
      [chassisAnnotation]: chassis.name,
      ...(found !== undefined && "text" in found && { [gatewayAnnotation]: found.text }),
    };
    const { uid, annotations: said = {} } = node.metadata;
    if (Object.entries(wanted).every(([key, text]) => said[key] === text)) return;
    await client.patch(
      nodes,
      { name },
      { type: "merge", body: { metadata: { uid, annotations: wanted } } },
      { signal },
    );
    log.info("said on its Node which chassis it is", wanted);
  }
}
