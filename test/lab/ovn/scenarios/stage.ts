// What every scenario on the default network has: the cluster, pods on each node, VMs to which something happens, and
// one to which nothing does.
//
//   a1, a2, ...  a pod on each node
//   vm0          a VM that stays at home, on the first node
import { together } from "../../wait.ts";
import { type ClusterWishes, LabCluster } from "../cluster/cluster.ts";
import type { PlayedVm } from "../cluster/played-vm.ts";
import type { OvnLab } from "../lab.ts";
import type { OvnPod } from "../pod.ts";
import type { ScenarioWishes } from "./scenario.ts";
import { Watch } from "./watch.ts";

interface CastVm {
  readonly name: string;
  /** Its home, where it is started. */
  readonly node: string;
  /** Which address of the node's subnet. */
  readonly number: number;
}

export interface Cast extends Omit<ClusterWishes, "without"> {
  readonly vms: readonly CastVm[];
  /** Nodes with pods and bystanders; every one where none are named. */
  readonly on?: readonly string[];
  /** A second pod on each node (s1, s2, ...), which must not have an answer from the VMs. */
  readonly hasStrangers?: true;
}

export const vm1: CastVm = { name: "vm1", node: "node1", number: 8 };
/** Of pods, and of the VM that stays. */
const podNumber = 5;
const stayerNumber = 9;
const strangerNumber = 6;

export class Stage implements AsyncDisposable {
  readonly cluster: LabCluster;
  readonly pods: readonly OvnPod[];
  /** In the order of the cast. */
  readonly vms: readonly PlayedVm[];
  readonly watch: Watch;

  private constructor(cluster: LabCluster, pods: readonly OvnPod[], vms: readonly PlayedVm[], watch: Watch) {
    this.cluster = cluster;
    this.pods = pods;
    this.vms = vms;
    this.watch = watch;
  }

  /** Resolves when every guest has its address. */
  static async open(lab: OvnLab, { signal, without }: ScenarioWishes, cast: Cast): Promise<Stage> {
    const cluster = await LabCluster.open(lab, { ...cast, without }, signal);
    try {
      const nodes = cast.on ?? lab.nodes.map(({ name }) => name);
      const stayers = without.has("bystanders") ? [] : [{ name: "vm0", node: nodes[0]!, number: stayerNumber }];
      const onEach = (letter: string, number: number) =>
        nodes.map((node) => (limit: AbortSignal) => cluster.pod(node.replace("node", letter), node, number, limit));
      const podTasks = [...onEach("a", podNumber), ...(cast.hasStrangers === true ? onEach("s", strangerNumber) : [])];
      const vmTasks = [...cast.vms, ...stayers].map(({ name, node, number }) => async (limit: AbortSignal) => {
        const vm = await cluster.vm(name, node, number, limit);
        await vm.guest.leased(limit);
        return vm;
      });
      const [allPods, all] = await Promise.all([together(podTasks, signal), together(vmTasks, signal)]);
      const [pods, strangers] = [allPods.slice(0, nodes.length), allPods.slice(nodes.length)];
      const [vms, stayer] = [all.slice(0, cast.vms.length), all[cast.vms.length]];
      // Behind a mask a VM cannot be spoken with from outside: its answers would come from its node.
      const outside = cast.masks === true ? undefined : lab.outside;
      return new Stage(cluster, pods, vms, new Watch({ vms, pods, strangers, outside, stayer, signal }));
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
  }
}
