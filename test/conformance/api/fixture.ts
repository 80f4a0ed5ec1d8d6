// What one case gets: a client, a namespace of its own, names that nobody else uses, and a broom.
import { randomBytes } from "node:crypto";

import { del, get, mergePatch, post } from "./call.ts";
import type { ApiClient } from "./client.ts";
import type { KubeObject } from "./object.ts";

export type Case = (fixture: Fixture) => Promise<void>;

export interface Subject {
  readonly name: string;
  /** Its cases disturb others, so that they run while no other does. */
  readonly alone?: true;
  /** Key: the case's name, unique in the whole suite, because skip lists go by it. */
  readonly cases: Readonly<Record<string, Case>>;
}

/** The group and version below which a built-in resource lives. */
const roots: Readonly<Record<string, string>> = {
  leases: "/apis/coordination.k8s.io/v1",
  deployments: "/apis/apps/v1",
  roles: "/apis/rbac.authorization.k8s.io/v1",
};

export class Fixture {
  readonly api: ApiClient;
  readonly namespace: string;
  /** Makes the server forget old versions, so that what depends on them is Gone. */
  readonly compact: () => Promise<void>;
  readonly #sweeps: (() => Promise<void>)[] = [];

  constructor(api: ApiClient, namespace: string, compact: () => Promise<void>) {
    this.api = api;
    this.namespace = namespace;
    this.compact = compact;
  }

  /** The path of a collection in the case's namespace, of an object in it, or of its subresource. */
  at(plural: string, ...rest: readonly string[]): string {
    return [`${roots[plural] ?? "/api/v1"}/namespaces/${this.namespace}/${plural}`, ...rest].join("/");
  }

  /** Creates an object in the case's namespace, which stays with it. */
  make(plural: string, body: object): Promise<KubeObject> {
    return this.api.done(post(this.at(plural), body));
  }

  /** Creates an object outside of the case's namespace, and removes it when the case is over. */
  async lend(collection: string, body: object): Promise<KubeObject> {
    const object = await this.api.done(post(collection, body));
    this.after(() => discard(this.api, `${collection}/${object.metadata.name}`));
    return object;
  }

  /** A second namespace. */
  async neighbour(): Promise<Fixture> {
    const other = await openFixture(this.api, this.compact);
    this.after(() => other.close());
    return other;
  }

  /** Runs when the case is over, whether it passed or not; the last registered first. */
  after(sweep: () => Promise<void>): void {
    this.#sweeps.push(sweep);
  }

  /** The namespace stays until its server ends: its end asks for every kind, and hundreds of cases would wait. */
  async close(): Promise<void> {
    for (const sweep of this.#sweeps.reverse()) await sweep();
  }
}

/** Valid as a name of anything: at most 24 letters and digits, the prefix first. */
export const unique = (prefix: string): string => `${prefix}${randomBytes(5).toString("hex")}`;

export async function openFixture(api: ApiClient, compact: () => Promise<void>): Promise<Fixture> {
  const name = unique("case");
  await api.done(post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  return new Fixture(api, name, compact);
}

/** Deletes an object whatever holds it, or if it is gone already. Nobody waits: no other case uses its name. */
async function discard(api: ApiClient, path: string): Promise<void> {
  const answer = await api.send(del(path, { gracePeriodSeconds: 0 }));
  // A CRD's only finalizer is the server's own, which has work to do.
  if (answer.status === 404 || path.includes("/customresourcedefinitions/")) return;
  const left = await api.send(get(path));
  const finalizers = (left.body as Partial<KubeObject> | undefined)?.metadata?.finalizers ?? [];
  if (finalizers.length > 0) await api.send(mergePatch(path, { metadata: { finalizers: null } }));
}
