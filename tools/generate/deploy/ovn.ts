// deploy/ovn/rights.yaml: what the default network on OVN adds to an installation, as a choice (--ovn-northbound). The
// controller then writes annotations of Nodes and of launcher pods, a daemon those of its own Node, and policies of the
// API server say which: with the right to change a Node or a pod's status alone both could do much more.
import { podNetworksAnnotation } from "../../../src/cluster/pod-network.ts";
import {
  addressSinceAnnotation,
  guestSeenAnnotation,
  receiptAnnotation,
} from "../../../src/migration/objects/launcher.ts";
import { nodeSubnetsAnnotation } from "../../../src/migration/objects/node-subnets.ts";
import { chassisAnnotation, gatewayAnnotation, nodeIdAnnotation } from "../../../src/migration/topology/node-facts.ts";
import { controllerName, nodeName } from "./place.ts";
import { isUser, nodeClaim, policyObjects, same, sameAnnotationsBut, sameLabels } from "./policy.ts";
import { binding, role, type Rule, rule } from "./rights.ts";

const name = "holdfast-ovn";

const controllerRules: readonly Rule[] = [
  rule("", ["nodes"], ["patch"]), // its number and its subnets: the policy below
  rule("", ["pods/status"], ["patch"]), // a VM's address on its next pod, receipts: the policy below
  rule("", ["services"], ["list", "watch"]), // the DNS service that guests are told of
  rule("kubevirt.io", ["kubevirts"], ["list", "watch"]), // KubeVirt's version
];

/** For daemons with --ovn-management-port. */
const nodeRules: readonly Rule[] = [
  rule("", ["nodes"], ["list", "watch", "patch"]), // which node has which subnet; of its own: the policy below
  rule("", ["pods/status"], ["patch"]), // a guest seen, addresses told, on its own pods: the policy below
  rule("", ["services"], ["list", "watch"]), // where zones are interconnected: the DNS service that guests are told of
  rule("apps", ["daemonsets", "deployments"], ["list"]), // nothing is said beside a running OVN-Kubernetes
];

const nodeSide = `${name}-node`;

/** What a launcher pod says of its address: who could write it for a pod of theirs would have another's address. */
const sayings = [podNetworksAnnotation, addressSinceAnnotation, guestSeenAnnotation, receiptAnnotation];

export function ovnObjects(): object[] {
  return [
    role("ClusterRole", name, controllerRules),
    binding("ClusterRole", name, controllerName),
    role("ClusterRole", nodeSide, nodeRules),
    binding("ClusterRole", nodeSide, nodeName),
    ...policyObjects("holdfast-ovn-nodes", policy("nodes", controllerName, [nodeIdAnnotation, nodeSubnetsAnnotation])),
    ...policyObjects(
      "holdfast-ovn-pods",
      policy("pods/status", controllerName, [podNetworksAnnotation, addressSinceAnnotation, receiptAnnotation]),
    ),
    ...policyObjects(
      "holdfast-ovn-machines",
      policy("nodes", nodeName, [chassisAnnotation, gatewayAnnotation], ownOf("object.metadata.name")),
    ),
    ...policyObjects(
      "holdfast-ovn-guests",
      policy(
        "pods/status",
        nodeName,
        [guestSeenAnnotation, podNetworksAnnotation],
        ownOf('object.spec.?nodeName.orValue("")'),
      ),
    ),
    ...policyObjects("holdfast-ovn-addresses", onlyOurs()),
  ];
}

/** For everybody else, administrators too: a pod that is put back from a backup is made without them. */
function onlyOurs(): object {
  const ours = [controllerName, nodeName].map((account) => `!(${isUser(account)})`);
  const keys = sayings.map((key) => `"${key}"`).join(", ");
  const before = 'oldObject == null ? "" : oldObject.metadata.?annotations[?key].orValue("")';
  return {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [""],
          apiVersions: ["v1"],
          operations: ["CREATE", "UPDATE"],
          resources: ["pods", "pods/status", "pods/binding", "bindings"],
        },
      ],
    },
    matchConditions: [{ name: "others", expression: ours.join(" && ") }],
    validations: [
      {
        expression: `[${keys}].all(key, object.metadata.?annotations[?key].orValue("") == (${before}))`,
        message: `Only Holdfast says which address a pod has on OVN: leave out the annotations ${sayings.join(", ")}.`,
      },
    ],
  };
}

function policy(resource: string, account: string, annotations: readonly string[], ...more: readonly object[]): object {
  return {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: [resource] }],
    },
    matchConditions: [{ name: "ours", expression: isUser(account) }],
    validations: [only(annotations), ...more],
  };
}

function only(annotations: readonly string[]): object {
  return {
    expression: `object.spec == oldObject.spec && object.status == oldObject.status && ${sameLabels} && ${same("finalizers")} && ${same("ownerReferences")} && ${sameAnnotationsBut(...annotations)}`,
    message: `Of it this account writes these annotations only: ${annotations.join(", ")}.`,
  };
}

/** A token says its node since Kubernetes 1.32 (and is believed); before, any node may write those of any. */
function ownOf(its: string): object {
  return {
    expression: `request.userInfo.?extra[?"${nodeClaim}"].orValue([]).all(node, ${its} == node)`,
    message: "A node's daemon writes its own Node and the pods on it only.",
  };
}
