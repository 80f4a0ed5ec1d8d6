// What the stories of the daemon share: a server, daemons on it, networks, pods, and what the server holds afterwards.
import { namespaces, type Pod, pods } from "../../src/cluster/resources.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { listHolds } from "../../src/ledger/reservation/list-holds.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { tellState } from "../ledger/told-state.ts";
import { DaemonFixture, type DaemonFixtureOptions } from "./daemon-fixture.ts";
import { type Ask, podArgs, type Told } from "./shim.ts";

export interface Server {
  readonly transport: Transport;
  stop(): Promise<void>;
}

interface PodEvent extends KubeObject {
  readonly involvedObject: { readonly name?: string };
  readonly reason: string;
  readonly message: string;
}
const events = defineResource<PodEvent>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

/** Of the CNI plugin's configuration, only what a story is about; the rest is as usual. */
export function network(name: string, ipam: object, more: object = {}): object {
  return { cniVersion: "1.0.0", name, type: "bridge", ...more, ipam: { type: "holdfast", ...ipam } };
}

export class Fixture {
  readonly admin: KubeClient;
  readonly #server: Server;
  readonly #daemonFixtures: DaemonFixture[] = [];
  #number = 0;

  private constructor(server: Server) {
    this.#server = server;
    this.admin = new KubeClient({ transport: server.transport });
  }

  static async open(server: Server): Promise<Fixture> {
    const fixture = new Fixture(server);
    await installDefinitions(fixture.admin);
    await tellState(fixture.admin);
    return fixture;
  }

  /** For daemons whose line a story disturbs. */
  get transport(): Transport {
    return this.#server.transport;
  }

  async close(): Promise<void> {
    for (const daemonFixture of this.#daemonFixtures) await daemonFixture[Symbol.asyncDispose]();
    await this.#server.stop();
  }

  async daemon(options: Partial<DaemonFixtureOptions> = {}): Promise<DaemonFixture> {
    const daemonFixture = await DaemonFixture.start({ transport: this.#server.transport, ...options });
    this.#daemonFixtures.push(daemonFixture);
    return daemonFixture;
  }

  /** Coexistence is on until the story ends; daemons that it starts afterwards begin with that. */
  async beside(poolNamespace = ""): Promise<AsyncDisposable> {
    if (poolNamespace !== "") await this.namespace(poolNamespace);
    await tellState(this.admin, { coexistence: true, poolNamespace });
    return { [Symbol.asyncDispose]: () => tellState(this.admin, { poolNamespace: "" }) };
  }

  /** A name that nothing else in this world has. */
  fresh(prefix: string): string {
    this.#number += 1;
    return `${prefix}-${this.#number}`;
  }

  async namespace(name: string, annotations: Record<string, string> = {}): Promise<string> {
    await this.admin.create(namespaces, { metadata: { name, annotations } });
    return name;
  }

  async pod(namespace: string, name: string, metadata: Partial<KubeObject["metadata"]> = {}): Promise<Pod> {
    const spec = { nodeName: "node1", containers: [{ name: "c", image: "none" }] };
    return this.admin.create(pods, { metadata: { namespace, name, ...metadata }, spec });
  }

  /** What a pod was told, as `reason: message`. */
  async eventsOf(name: string, namespace = "default"): Promise<string[]> {
    const { items } = await this.admin.list(events, { namespace });
    return items.flatMap((each) => (each.involvedObject.name === name ? [`${each.reason}: ${each.message}`] : []));
  }

  /** Addresses that are held under a pool's name or network, as `address podref interface container`, in order. */
  async held(about: string): Promise<string[]> {
    const lines: string[] = [];
    for await (const each of listHolds(this.admin)) {
      if (each.unreadable !== undefined) throw new Error(each.unreadable);
      const { hold, namespace } = each;
      if (!`${namespace} ${hold.domain} ${hold.note?.pool ?? ""} `.includes(about)) continue;
      const { owner } = hold;
      const port = owner.kind === "pod" ? `${owner.interface} ${owner.containerId ?? "-"}` : "";
      lines.push(`${hold.address} ${owner.namespace}/${owner.name} ${port}`);
    }
    return lines.sort();
  }
}

/** An ADD, and the addresses of its answer. */
export async function given(daemonFixture: DaemonFixture, asked: Omit<Ask, "command">): Promise<string[]> {
  const told = await daemonFixture.ask({ command: "ADD", ...asked });
  if (told.status !== 0) throw new Error(`ADD failed: ${told.text}`);
  return addresses(told);
}

function addresses({ json }: Told): string[] {
  return json.ips.map(({ address }: { address: string }) => address);
}

export function pod(name: string, container = `c-${name}`, namespace = "default"): { container: string; args: string } {
  return { container, args: podArgs(namespace, name, `uid-${namespace}-${name}`.replaceAll(".", "-")) };
}
