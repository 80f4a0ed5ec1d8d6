// The claims of the cluster as a bystander sees them: when each came, and what its status says.
//
// On purpose without the code that is measured: names and fields are read by hand.
import { Informer } from "../../src/kube/cache/informer.ts";
import type { AnyObject, DeepReadonly } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { until } from "../../test/lab/wait.ts";
import type { BenchLab } from "../cni/lab.ts";

interface Claim extends AnyObject {
  status?: { ips?: string[] };
}

export const claims = defineResource<Claim>({
  group: "k8s.cni.cncf.io",
  version: "v1alpha1",
  plural: "ipamclaims",
  kind: "IPAMClaim",
  namespaced: true,
});

export interface SeenClaim {
  readonly name: string;
  readonly uid: string;
  /** Without the length of the network. */
  readonly addresses: readonly string[];
}

/** 10,000 claims at some hundred writes a second, each with a hold and a status; and others on the machine. */
const waitMs = 900_000;

export class ClaimWatch implements AsyncDisposable {
  readonly #informer: Informer<Claim>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Name -> when it was first seen. */
  readonly #firstSeenMs = new Map<string, number>();
  /** Names of claims whose status has an address. */
  readonly #bound = new Set<string>();

  private constructor(lab: BenchLab) {
    this.#informer = new Informer({ client: lab.admin, resource: claims });
    this.#informer.handle(({ type, object }) => this.#heard(type, object));
    this.#running = this.#informer.run(this.#stop.signal);
  }

  static async start(lab: BenchLab): Promise<ClaimWatch> {
    const watch = new ClaimWatch(lab);
    await watch.#informer.synced(AbortSignal.timeout(waitMs));
    return watch;
  }

  firstSeenMs(name: string): number | undefined {
    return this.#firstSeenMs.get(name);
  }

  async come(name: string): Promise<number> {
    await until(async () => this.#firstSeenMs.has(name), { what: `the claim ${name}`, everyMs: 5, timeoutMs: waitMs });
    return this.#firstSeenMs.get(name)!;
  }

  async counted(count: number): Promise<void> {
    const isSo = async () => this.#firstSeenMs.size >= count;
    await until(isSo, { what: `${count} claims`, everyMs: 50, timeoutMs: waitMs });
  }

  /** Until so many have addresses in their status. */
  async bound(count: number): Promise<void> {
    const isSo = async () => this.#bound.size >= count;
    await until(isSo, { what: `${count} claims with addresses in their status`, everyMs: 50, timeoutMs: waitMs });
  }

  list(): SeenClaim[] {
    return Array.from(this.#informer.cache.list(), ({ metadata, status }) => ({
      name: metadata.name ?? "",
      uid: metadata.uid ?? "",
      addresses: (status?.ips ?? []).map((ip) => ip.replace(/\/\d+$/, "")),
    }));
  }

  #heard(type: "add" | "update" | "delete", { metadata: { name = "" }, status }: DeepReadonly<Claim>): void {
    if (type === "delete") {
      this.#firstSeenMs.delete(name);
      this.#bound.delete(name);
      return;
    }
    if (!this.#firstSeenMs.has(name)) this.#firstSeenMs.set(name, performance.now());
    if ((status?.ips ?? []).length > 0) this.#bound.add(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the benchmark is over"));
    await this.#running.catch(() => {}); // it ends because it was told to
  }
}
