// deploy/managed-dhcp: what managed DHCP adds to an installation, as a choice. rights.yaml: the account of agents,
// what the controller may do beside, and policies for what RBAC cannot say. takeover.yaml: the one right that is
// needed while Harvester's controller is replaced.
//
// A controller that may make Deployments in the system namespace could run anything there: a policy of the API server
// lets it make agents and nothing else. An agent sits on a network of tenants: it may mark a hold, and not move it.
import { holdfastGroup } from "../../../src/api/kind.ts";
import { harvesterGroup } from "../../../src/api/vmnet/managed-pool.ts";
import {
  agentLabelName,
  agentLabelValue,
  quarantineAnnotation,
  vmNetworkLabelName,
} from "../../../src/api/vmnet/marks.ts";
import { agentAccount } from "../../../src/vmnet/agents/names.ts";
import { controllerName } from "./place.ts";
import { isUser, policyObjects, same, sameAnnotationsBut, sameLabels } from "./policy.ts";
import { binding, grants, role, type Rule, rule } from "./rights.ts";

const name = "holdfast-managed-dhcp";
const definitions = "k8s.cni.cncf.io";
const read = ["get", "list", "watch"];

/** For the controller, everywhere: pools and network configs are tenants' objects. */
const controllerRules: readonly Rule[] = [
  rule(harvesterGroup, ["ippools"], [...read, "update", "patch", "delete"]), // its finalizer; goes with its network
  rule(harvesterGroup, ["ippools/status"], ["update", "patch"]),
  rule(harvesterGroup, ["virtualmachinenetworkconfigs"], [...read, "create", "update", "patch", "delete"]), // of VMs
  rule(harvesterGroup, ["virtualmachinenetworkconfigs/status"], ["update", "patch"]),
  rule(definitions, ["network-attachment-definitions"], ["patch"]), // the labels that name its pool
  rule("kubevirt.io", ["virtualmachines"], ["patch"]), // a note that its network config was deleted by hand: below
  rule("networking.k8s.io", ["servicecidrs"], ["list"]), // a pool must not overlap the cluster's own ranges
];

const controllerSystemRules: readonly Rule[] = [
  rule("apps", ["deployments"], [...read, "create", "update", "delete"]), // of agents: the policy below
  rule("policy", ["poddisruptionbudgets"], [...read, "create", "update", "delete"]),
];

const agentRules: readonly Rule[] = [
  rule(harvesterGroup, ["ippools"], read),
  rule("", ["events"], ["create", "patch"]), // conflicts, foreign servers: on the pool
];

const agentSystemRules: readonly Rule[] = [
  rule(holdfastGroup, ["holds"], [...read, "patch"]), // its bindings; quarantine
  rule("coordination.k8s.io", ["leases"], ["get", "create", "update"]), // who answers at the server's address
];

/** Where Harvester's agents run. */
const harvesterNamespace = "harvester-system";
const takeoverRules: readonly Rule[] = [rule("", ["pods"], ["delete"])];

export function managedDhcpObjects(): object[] {
  return [
    ...grants(agentAccount, agentRules, agentSystemRules),
    role("ClusterRole", name, controllerRules),
    binding("ClusterRole", name, controllerName),
    role("Role", name, controllerSystemRules),
    binding("Role", name, controllerName),
    ...policyObjects("holdfast-agent-deployments", deploymentPolicy()),
    ...policyObjects("holdfast-agent-writes", agentPolicy()),
    ...policyObjects("holdfast-vm-notes", machinePolicy()),
  ];
}

export function takeoverObjects(): object[] {
  const there = (object: object) => {
    const { metadata, ...rest } = object as { metadata: object };
    return { ...rest, metadata: { ...metadata, namespace: harvesterNamespace } };
  };
  const own = "holdfast-takeover";
  return [role("Role", own, takeoverRules), binding("Role", own, controllerName)].map(there).map(inOrder);
}

/** apiVersion and kind first, for people. */
function inOrder({ metadata, ...object }: { metadata: object } & Record<string, unknown>): object {
  const { apiVersion, kind, ...rest } = object;
  return { apiVersion, kind, metadata, ...rest };
}

function deploymentPolicy(): object {
  const pod = "object.spec.template.spec";
  const isAgents = (object: string) =>
    `${object}.metadata.?labels[?"${agentLabelName}"].orValue("") == "${agentLabelValue}"`;
  const every = (expression: string) =>
    `(${pod}.containers + ${pod}.?initContainers.orValue([])).all(c, ${expression})`;
  const context = "c.?securityContext";
  return {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ["apps"],
          apiVersions: ["v1"],
          operations: ["CREATE", "UPDATE", "DELETE"],
          resources: ["deployments"],
        },
      ],
    },
    matchConditions: [{ name: "controller", expression: isUser(controllerName) }],
    validations: [
      {
        expression: `(object == null || ${isAgents("object")}) && (oldObject == null || ${isAgents("oldObject")})`,
        message: `The controller writes Deployments with the label ${agentLabelName}=${agentLabelValue} only.`,
      },
      {
        expression: `object == null || ${pod}.?serviceAccountName.orValue("") == "${agentAccount}"`,
        message: `An agent runs under the account ${agentAccount}.`,
      },
      {
        expression: `object == null || (!${pod}.?hostNetwork.orValue(false) && !${pod}.?hostPID.orValue(false) && !${pod}.?hostIPC.orValue(false) && ${pod}.?volumes.orValue([]).all(v, has(v.emptyDir)))`,
        message: "An agent has nothing of its node: no host namespace, and no volume but an empty one.",
      },
      {
        expression: `object == null || ${every(
          `!${context}.privileged.orValue(false) && ${context}.allowPrivilegeEscalation.orValue(true) == false && ${context}.capabilities.add.orValue([]).all(each, each == "NET_RAW")`,
        )}`,
        message: "Of root's powers an agent has NET_RAW alone.",
      },
    ],
  };
}

function machinePolicy(): object {
  return {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ["kubevirt.io"],
          apiVersions: ["*"],
          operations: ["UPDATE"],
          resources: ["virtualmachines"],
        },
      ],
    },
    matchConditions: [{ name: "controller", expression: isUser(controllerName) }],
    validations: [
      {
        expression: `object.spec == oldObject.spec && ${sameLabels} && ${same("finalizers")} && ${same("ownerReferences")}`,
        message: "Of a VM the controller writes annotations only.",
      },
    ],
  };
}

function agentPolicy(): object {
  const isHold = 'request.resource.resource == "holds"';
  const isLease = 'request.resource.resource == "leases"';
  return {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [holdfastGroup],
          apiVersions: ["*"],
          operations: ["CREATE", "UPDATE", "DELETE"],
          resources: ["holds"],
        },
        {
          apiGroups: ["coordination.k8s.io"],
          apiVersions: ["v1"],
          operations: ["CREATE", "UPDATE"],
          resources: ["leases"],
        },
      ],
    },
    matchConditions: [{ name: "agents", expression: isUser(agentAccount) }],
    validations: [
      {
        expression: `!(${isLease}) || object.metadata.name.startsWith("dhcp.")`,
        message: "An agent writes the Leases of server addresses only: dhcp.NAMESPACE.POOL.",
      },
      {
        expression: `!(${isHold}) || (request.operation == "UPDATE" && has(oldObject.metadata.labels) && "${vmNetworkLabelName}" in oldObject.metadata.labels)`,
        message: "An agent marks the holds of VM networks, and neither makes nor deletes any.",
      },
      {
        expression: `!(${isHold}) || request.operation != "UPDATE" || (object.spec == oldObject.spec && ${sameLabels} && ${same("finalizers")} && ${same("ownerReferences")} && ${sameAnnotationsBut(quarantineAnnotation)})`,
        message: `Of a hold an agent changes the annotation ${quarantineAnnotation} only.`,
      },
    ],
  };
}
