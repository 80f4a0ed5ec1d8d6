// What tests of persistent addresses on real nodes share: a cluster with Holdfast and KubeVirt's kinds, KubeVirt played
// with real launcher pods, and three truths about an address: nodes' kernels, its hold, the claim as users see it.
import { claimDefinition } from "../../src/claims/crd.ts";
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { listHolds, type ListedHold } from "../../src/ledger/reservation/list-holds.ts";
import { claims } from "../claims/claim-objects.ts";
import { kubevirtCrds } from "../claims/kubevirt/crds.ts";
import { find } from "../claims/kubevirt/edit.ts";
import { Kubevirt } from "../claims/kubevirt/kubevirt.ts";
import type { Launcher } from "../claims/kubevirt/launcher.ts";
import type { Machine } from "../claims/kubevirt/machine.ts";
import { type Nic, type Pod, pods } from "../claims/kubevirt/objects.ts";
import type { Cluster } from "../lab/cluster.ts";
import { kernelAddresses } from "../lab/holdfast/addresses.ts";
import { type LabHoldfast, runHoldfast } from "../lab/holdfast/holdfast.ts";
import type { LabNode } from "../lab/node.ts";
import { cluster } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { launcherSpec, RealKubelet } from "./claim-kubelet.ts";
import { applyWebhooks } from "./claim-webhooks.ts";

/** A start or stop takes 2 s on two idle cores, and a story has ten at most; ten times that for a busy machine. */
export const storyMs = 240_000;
export const namespace = "default";
/** observed: section 2, the names in a launcher pod of the networks that the VM calls blue and green. */
export const ports = { blue: "pod16477688c0e", green: "podba4788b226a" };
export const blue: Nic = { name: "blue", definition: "blue" };
export const green: Nic = { name: "green", definition: "green" };

const timeoutMs = 60_000;

export interface ClaimStatus {
  readonly ips?: readonly string[];
  readonly ownerPod?: { readonly name: string };
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}

export class ClaimFixture {
  readonly lab: Cluster;
  readonly holdfast: LabHoldfast;
  readonly kubelet: RealKubelet;
  readonly kubevirt: Kubevirt;
  /** Where the scheduler puts the next launcher; undefined: on the first node that is free for it. */
  nextNode: string | undefined;
  readonly #connection: Connection;

  private constructor(lab: Cluster, holdfast: LabHoldfast, connection: Connection) {
    this.lab = lab;
    this.holdfast = holdfast;
    this.#connection = connection;
    const { client } = connection;
    this.kubelet = new RealKubelet(lab, client);
    const place = (_: Machine, without: readonly string[]) =>
      [...(this.nextNode === undefined ? [] : [this.nextNode]), ...lab.nodes.map(({ name }) => name)].find(
        (name) => !without.includes(name),
      ) ?? "";
    this.kubevirt = new Kubevirt({ client, kubelet: this.kubelet, place, pace: async () => {}, podSpec: launcherSpec });
  }

  /** `webhooks`: those of deploy/webhooks.yaml are there. */
  static async open({ webhooks = false } = {}): Promise<ClaimFixture> {
    const lab = await cluster({ nodes: 3, log: console.error, definitions: [...kubevirtCrds, claimDefinition()] });
    try {
      const connection = connect(await loadKubeconfig({ path: lab.kubeconfig }));
      const more = webhooks ? await applyWebhooks(lab) : [];
      const controllerArgs = ["--observe-seconds=5", "--superseded-seconds=5", ...more];
      const holdfast = await runHoldfast(lab, { controllerArgs });
      const fixture = new ClaimFixture(lab, holdfast, connection);
      await fixture.#defineAll();
      return fixture;
    } catch (error) {
      await lab.stop();
      throw error;
    }
  }

  /** blue has a range of ours, green is described as OVN-Kubernetes has it; both are one wire for all nodes. */
  async #defineAll(): Promise<void> {
    const macvlan = { cniVersion: "1.0.0", type: "macvlan", master: "eth0", mode: "bridge" };
    const ipam = { type: "holdfast", range: "10.81.0.0/24", gateway: "10.81.0.1", allowPersistentIPs: true };
    await this.#define("blue", { ...macvlan, name: "blue-net", ipam });
    const ovn = { topology: "localnet", subnets: "10.82.0.0/24", excludeSubnets: "10.82.0.0/28" };
    const overlay = { ...macvlan, ...ovn, name: "green-net", allowPersistentIPs: true, ipam: { type: "holdfast" } };
    await this.#define("green", overlay);
  }

  async #define(name: string, config: object): Promise<void> {
    await this.lab.rest.create(`/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions`, {
      apiVersion: "k8s.cni.cncf.io/v1",
      kind: "NetworkAttachmentDefinition",
      metadata: { name, namespace },
      spec: { config: JSON.stringify(config) },
    });
  }

  async close(): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
    await this.lab.stop();
  }

  get client(): Connection["client"] {
    return this.#connection.client;
  }

  node(name: string): LabNode {
    const found = this.lab.nodes.find((each) => each.name === name);
    if (found === undefined) throw new Error(`the lab has no ${name}`);
    return found;
  }

  machine(name: string, nics: readonly Nic[] = [blue]): Promise<Machine> {
    return this.kubevirt.create({ namespace, name, nics });
  }

  async start(machine: Machine, node?: string): Promise<string> {
    this.nextNode = node;
    if (!(await this.kubevirt.start(machine))) throw new Error(`${machine.name} did not start`);
    return this.addressOf(machine.instance!.active);
  }

  /** The launcher of a VM that is being started, as soon as it is made. */
  launcherOf(machine: Machine): Promise<Launcher> {
    const what = `a launcher of ${machine.name}`;
    return until(async () => machine.instance?.active, { what, everyMs: 50, timeoutMs });
  }

  async podIs({ at, name }: Launcher, what: string, isSo: (pod: Pod) => boolean): Promise<void> {
    const look = async () => {
      const pod = await find(this.client, pods, at);
      return pod !== undefined && isSo(pod);
    };
    await until(look, { what: `${name} to be ${what}`, everyMs: 50, timeoutMs });
  }

  /** What the pod was told for the interface. */
  addressOf({ attached, name }: Launcher, port = ports.blue): string {
    const [address] = attached.get(port)?.addresses ?? [];
    if (address === undefined) throw new Error(`${name} was told no address for ${port}`);
    return address;
  }

  /** From inside the pod, as its owner sees it. */
  inside({ name }: Launcher, ...command: readonly string[]): Promise<string> {
    return this.lab.kubectl(["exec", `--namespace=${namespace}`, name, "--", ...command]);
  }

  /** `node sandbox interface` of each sandbox that has the address. */
  async kernels(address: string): Promise<string[]> {
    const views = await Promise.all(this.lab.nodes.map(kernelAddresses));
    return views.flat().flatMap((each) => (each.address === address ? [each.who] : []));
  }

  /** Waits until the sandboxes that have the address are on exactly these nodes. */
  async kernelsAre(address: string, ...nodes: readonly string[]): Promise<void> {
    const wanted = nodes.toSorted().join();
    const look = async () => {
      const found = (await this.kernels(address)).map((who) => who.split(" ")[0] ?? "");
      if (found.toSorted().join() === wanted) return true;
      throw new Error(`it is on ${found.join() || "none"}`);
    };
    await until(look, { what: `${address} to be on ${wanted || "no node"}`, everyMs: 300, timeoutMs });
  }

  /** Undefined: nobody holds it; it may rest. */
  async hold(address: string): Promise<ListedHold["hold"] | undefined> {
    for await (const each of listHolds(this.client)) {
      if (each.unreadable !== undefined) throw new Error(each.unreadable);
      if (String(each.hold.address) === address) return each.hold;
    }
    return undefined;
  }

  /** Waits until the address is the claim's, and these pods use it. */
  async usersAre(address: string, claim: string, ...launchers: readonly Launcher[]): Promise<void> {
    const wanted = launchers.map(({ name }) => name).toSorted();
    const look = async () => {
      const hold = await this.hold(address);
      const found = (hold?.users ?? []).map(({ name }) => name).toSorted();
      if (hold?.owner.kind === "claim" && hold.owner.name === claim && found.join() === wanted.join()) return true;
      throw new Error(`it is held by ${JSON.stringify(hold?.owner)} and used by ${found.join() || "nobody"}`);
    };
    const what = `${address} to be of ${claim}, used by ${wanted.join() || "nobody"}`;
    await until(look, { what, everyMs: 300, timeoutMs });
  }

  /** Waits until nobody holds any address; some may rest. */
  async nothingHeld(): Promise<void> {
    const look = async () => {
      const held: string[] = [];
      for await (const { unreadable, object } of listHolds(this.client))
        held.push(unreadable ?? object.metadata.name ?? "");
      if (held.length === 0) return true;
      throw new Error(`held are ${held.join(", ")}`);
    };
    await until(look, { what: "nothing to be held", everyMs: 300, timeoutMs });
  }

  async released(address: string): Promise<void> {
    const what = `${address} to be released`;
    await until(async () => (await this.hold(address)) === undefined, { what, everyMs: 300, timeoutMs });
  }

  claim(name: string): Promise<AnyObject | undefined> {
    return find(this.client, claims, { namespace, name });
  }

  async claimIs(name: string, what: string, isSo: (claim: AnyObject) => boolean = () => true): Promise<AnyObject> {
    const look = async () => {
      const claim = await this.claim(name);
      if (claim !== undefined && isSo(claim)) return claim;
      throw new Error(`it is ${JSON.stringify(claim)}`);
    };
    return until(look, { what: `claim ${name} to be ${what}`, everyMs: 200, timeoutMs });
  }

  async claimGoes(name: string): Promise<void> {
    const what = `claim ${name} to go`;
    await until(async () => (await this.claim(name)) === undefined, { what, everyMs: 200, timeoutMs });
  }

  /** Waits for an event about an object of that name. Its message. */
  event(name: string, reason: string): Promise<string> {
    const query = encodeURIComponent(`involvedObject.name=${name},reason=${reason}`);
    const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=${query}`;
    const look = async () => (await this.lab.rest.get<{ items: { message: string }[] }>(path)).items[0]?.message;
    return until(look, { what: `the event ${reason} about ${name}`, everyMs: 300, timeoutMs });
  }
}

export const statusOf = (claim: AnyObject): ClaimStatus => claim["status"] ?? {};
