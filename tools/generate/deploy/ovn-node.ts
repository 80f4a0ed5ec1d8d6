// deploy/ovn/node-rights.yaml: what attaching pods to OVN adds to a daemon's rights, as a choice. A status says no more
// than what a pod is told of itself: it changes nothing that the pod runs.
import { nodeName } from "./place.ts";
import { binding, role, rule } from "./rights.ts";

const name = "holdfast-node-ovn";

export function ovnNodeObjects(): object[] {
  return [
    role("ClusterRole", name, [rule("", ["pods/status"], ["patch"])]), // k8s.ovn.org/pod-networks
    binding("ClusterRole", name, nodeName),
  ];
}
