// What RBAC cannot say of Leases: a node's account writes its own node's Lease only, the controller's its own and those
// of nodes. Without it a taken node could end the leadership of every controller with a Lease in the system namespace.
//
// A token says its node since Kubernetes 1.32 (and is believed); before, any node may write the Lease of any node.
import { controllerName, nodeName } from "./place.ts";
import { isUser, nodeClaim, policyObjects } from "./policy.ts";

const name = "holdfast-leases";
const prefix = "holdfast-node-";
/** A longer node's name ends in a hash (src/api/slices/node-lease.ts): then only the beginning is compared. */
const longestWhole = 253 - prefix.length;

export function leasePolicyObjects(): object[] {
  return policyObjects(name, policy());
}

function policy(): object {
  const isNode = isUser(nodeName);
  const isController = isUser(controllerName);
  const claims = `request.userInfo.?extra[?"${nodeClaim}"].orValue([])`;
  const isOwn = `${claims}.all(node, node.size() > ${longestWhole} || object.metadata.name == "${prefix}" + node)`;
  return {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ["coordination.k8s.io"],
          apiVersions: ["v1"],
          operations: ["CREATE", "UPDATE"],
          resources: ["leases"],
        },
      ],
    },
    matchConditions: [{ name: "ours", expression: `${isNode} || ${isController}` }],
    validations: [
      {
        expression: `!(${isNode}) || (object.metadata.name.startsWith("${prefix}") && ${isOwn})`,
        message: "A node's daemon writes the Lease of its own node only.",
      },
      {
        expression: `!(${isController}) || object.metadata.name == "${controllerName}" || object.metadata.name.startsWith("${prefix}")`,
        message: "The controller writes its own Lease and those of nodes only.",
      },
    ],
  };
}
