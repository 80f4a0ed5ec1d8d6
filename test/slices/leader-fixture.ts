// What the tests of the leader of slices stand on: the embedded API in-process, a clock of the test's own, leaders that
// can be killed at any write, and daemons that do what docs/decisions/0013 asks of them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { Registry } from "prom-client";
import { parseAllDocuments } from "yaml";

import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { type Api, openApi } from "../../src/apiserver/api.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { noSlicedRanges, readSlicedRanges } from "../../src/cluster/sliced-ranges.ts";
import { stateName } from "../../src/cluster/state.ts";
import { trustedNamespaces } from "../../src/cluster/trusted-namespaces.ts";
import { assembleController, type ControllerOptions } from "../../src/controller/controller.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { ManualClock, settle } from "../../src/kube/testing/manual-clock.ts";
import { NotSentError, type Transport } from "../../src/kube/transport/transport.ts";
import { silent } from "../../src/log/log.ts";
import { defaultCutLimits } from "../../src/slices/ranges/consent.ts";
import { Daemon, system } from "./leader-daemon.ts";

export { system };

const folder = join(import.meta.dirname, "..", "..", "deploy", "crds");
export const crds = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const events = defineResource<KubeObject & { reason: string; involvedObject: { kind: string; name: string } }>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

export type LeadOptions = Partial<ControllerOptions>;

export class Fixture {
  readonly api: Api = openApi({ path: ":memory:" });
  readonly client = new KubeClient({ transport: this.api.transport });
  readonly clock = new ManualClock();
  readonly daemons = new Map<string, Daemon>();
  /** `network address` -> who handed it out: nobody may find another there. */
  readonly held = new Map<string, string>();
  readonly #leaders = new Set<Leader>();

  static async open(): Promise<Fixture> {
    const fixture = new Fixture();
    const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
    const objects = files.flatMap((text) => parseAllDocuments(text).map((each) => each.toJS() as KubeObject));
    const definitions = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
    for (const each of [...definitions, networkAttachmentDefinitionCrd as unknown as KubeObject]) {
      await fixture.client.create(crds, structuredClone(each));
    }
    await fixture.api.settled();
    for (const name of [system, "shop"]) {
      await fixture.client.create(kinds.namespaces, { metadata: { name } }).catch((error: unknown) => {
        if (!isApiError(error, "already-exists")) throw error;
      });
    }
    await fixture.state({ coexistence: "off", why: "", paused: "" });
    return fixture;
  }

  async close(): Promise<void> {
    for (const leader of this.#leaders) await leader.stop();
    this.api.close();
  }

  async state(data: Record<string, string>): Promise<void> {
    const metadata = { namespace: system, name: stateName };
    try {
      await this.client.create(kinds.configMaps, { metadata, data });
    } catch {
      await this.client.patch(kinds.configMaps, metadata, { type: "merge", body: { data } });
    }
  }

  async sliced() {
    const object = await this.client.get(kinds.configMaps, { namespace: system, name: stateName });
    return readSlicedRanges(object) ?? noSlicedRanges;
  }

  lead(options: LeadOptions = {}, killAtWrite = Number.POSITIVE_INFINITY): Leader {
    const leader = new Leader(this, options, killAtWrite);
    this.#leaders.add(leader);
    return leader;
  }

  async node(name: string): Promise<Daemon> {
    await this.client.create(kinds.nodes, { metadata: { name } });
    await this.ready(name, "True");
    const daemon = this.daemons.get(name) ?? new Daemon(this, name);
    this.daemons.set(name, daemon);
    return daemon;
  }

  async ready(name: string, status: "True" | "Unknown"): Promise<void> {
    const body = { status: { conditions: [{ type: "Ready", status }] } };
    await this.client.patch(kinds.nodes, { name }, { type: "merge", body }, { subresource: "status" });
  }

  async deleteNode(name: string): Promise<void> {
    await this.client.delete(kinds.nodes, { name });
  }

  /** A definition with one range, or with what `ipam` says instead. */
  async define(name: string, ipam: object, namespace = "shop", configuration = name): Promise<void> {
    const config = JSON.stringify({
      cniVersion: "1.0.0",
      name: configuration,
      type: "macvlan",
      ipam: { type: "holdfast", ...ipam },
    });
    const metadata = { namespace, name };
    try {
      await this.client.create(kinds.networkAttachmentDefinitions, { metadata, spec: { config } });
    } catch (error) {
      if (!isApiError(error, "already-exists")) throw error;
      const body = { spec: { config } };
      await this.client.patch(kinds.networkAttachmentDefinitions, metadata, { type: "merge", body });
    }
  }

  async undefine(name: string, namespace = "shop"): Promise<void> {
    await this.client.delete(kinds.networkAttachmentDefinitions, { namespace, name });
  }

  async pool(name: string, namespace = system): Promise<kinds.StoredSlicePool> {
    return this.client.get(kinds.nodeSlicePools, { namespace, name });
  }

  async hasPool(name: string, namespace = system): Promise<boolean> {
    return this.pool(name, namespace).then(
      () => true,
      () => false,
    );
  }

  /** node -> its blocks, in order. */
  async allocations(name: string, namespace = system): Promise<Record<string, string[]>> {
    const pool = await this.pool(name, namespace).catch(() => undefined);
    const found: Record<string, string[]> = {};
    for (const { nodeName, sliceRange } of pool?.status?.allocations ?? []) (found[nodeName] ??= []).push(sliceRange);
    return found;
  }

  async condition(name: string, type: string) {
    const { status } = await this.pool(name);
    return status?.conditions?.find((each) => each.type === type);
  }

  /** `KIND NAME REASON`. */
  async events(): Promise<string[]> {
    const { items } = await this.client.list(events);
    return items.map(({ involvedObject: { kind, name }, reason }) => `${kind} ${name} ${reason}`).toSorted();
  }

  /** Lets time pass, and every daemon that lives do its work, until it is so. */
  async until(what: string, isSo: () => Promise<boolean>, steps = 600): Promise<void> {
    for (let step = 0; step < steps; step++) {
      if (await isSo()) return;
      await this.pass(500);
    }
    throw new Error(`It did not happen within ${steps} steps: ${what}.`);
  }

  async pass(ms: number): Promise<void> {
    for (const daemon of this.daemons.values()) if (daemon.isAlive) await daemon.step();
    await this.clock.advance(ms);
    await settle(4);
  }

  /** Every node has a slice of the pool that its journal works by. */
  async granted(pool: string, nodes: readonly string[]): Promise<void> {
    await this.until(`${nodes.join(", ")} hand out of ${pool}`, async () =>
      nodes.every((node) => this.daemons.get(node)?.hasFree(pool) === true),
    );
  }
}

export class Leader {
  readonly registry = new Registry();
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  /** Writes that were sent. */
  writes = 0;
  isDead = false;

  constructor(fixture: Fixture, options: LeadOptions, killAtWrite: number) {
    const { clock } = fixture;
    const client = new KubeClient({ transport: this.#mortal(fixture.api.transport, killAtWrite) });
    const controller = assembleController({
      client,
      clock,
      log: silent,
      systemNamespace: system,
      cooldownMs: 0,
      instance: "t",
      registry: this.registry,
      cutRules: { ...defaultCutLimits, trusted: trustedNamespaces(system, ["shop"]) },
      reconcilers: ["slices"],
      ...options,
    });
    this.#running = controller.run(this.#stop.signal).catch(() => {}); // killed
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running;
  }

  async metric(name: string, pool: string): Promise<number | undefined> {
    const { values } = await this.registry.getSingleMetric(name)!.get();
    return values.find(({ labels }) => labels["pool"] === pool)?.value;
  }

  /** The k-th write is carried out and its answer lost; then nothing is heard or sent any more. Events do not count. */
  #mortal(transport: Transport, killAtWrite: number): Transport {
    return async (request) => {
      if (this.isDead) throw new NotSentError("killed");
      if (request.method === "GET" || request.path.includes("/events")) return transport(request);
      this.writes += 1;
      if (this.writes < killAtWrite) return transport(request);
      this.isDead = true;
      await transport(request);
      throw new Error("killed");
    };
  }
}
