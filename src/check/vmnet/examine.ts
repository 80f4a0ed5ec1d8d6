// What does not fit together on networks with managed DHCP: pools, networks, network configs, holds, agents. Pure.
// Nothing here is repaired from outside: the controller makes and frees holds, and looks more than once.
import { agentReadyCondition, inProcessReason } from "../../api/vmnet/marks.ts";
import { describeOwner } from "../../ipam/owner.ts";
import { compare } from "../../net/address.ts";
import { poolKeysOf } from "../../vmnet/agents/caches.ts";
import { agentStatusOf } from "../../vmnet/agents/status.ts";
import { sortPods } from "../../vmnet/agents/takeover.ts";
import { examinePool } from "../../vmnet/rules/examine-pool.ts";
import { costsIpv6, describeIssue, describePool, type Issue, networkConfigKindName } from "../../vmnet/rules/issue.ts";
import { issuesOf, type NetworkConfigReading } from "../../vmnet/rules/read-network-config.ts";
import { type Finding, finding, found } from "../finding.ts";
import type { VmHold, VmNetworksCheck, VmPool } from "./snapshot.ts";

export function examineVmNetworks(snapshot: VmNetworksCheck): Finding[] {
  const given = new Set(snapshot.holds.map((each) => `${nicKeyOf(each)} ${each.hold.address.family}`));
  return [
    ...snapshot.unreadable.map(({ object, why }): Finding =>
      finding("unreadable", "error", [object], { message: why, remedy: "Correct or delete it, as the sentence says." }),
    ),
    ...snapshot.pools.flatMap((pool) => [...poolFaults(snapshot, pool), ...agentFaults(snapshot, pool)]),
    ...snapshot.configs.flatMap((config) => configFaults(snapshot, config, given)),
    ...snapshot.holds.flatMap((held) => holdFaults(snapshot, held)),
    ...twoAddresses(snapshot.holds),
  ];
}

const severities = { error: "error", tolerated: "warning", advice: "info" } as const;

/** Those that have a code of their own in the list of findings. */
function codeOf({ code }: Issue): Finding["code"] {
  if (code === "overlapping-pool") return "vm-pools-overlap";
  if (code === "two-givers") return "vm-network-gives-addresses";
  return code === "unknown-network" ? "vm-network-missing" : "vm-pool-faulty";
}

function poolFaults({ pools, definitions }: VmNetworksCheck, { object, reading }: VmPool): Finding[] {
  const { plan, issues } = reading;
  const config = plan && definitions?.get(plan.network.key);
  const beside = plan && {
    plan,
    definition:
      definitions === undefined ? ("unknown" as const) : config === undefined ? ("missing" as const) : { config },
    others: pools.flatMap((each) => (each.reading.plan?.network.key === plan.network.key ? [each.reading.plan] : [])),
    clusterRanges: [],
    // Whom the controller trusts is an option of its own: what it refuses stands in the pool's conditions.
    trusted: { has: () => true },
  };
  const subject = describePool(object.metadata);
  return [...issues, ...(beside ? examinePool(beside) : [])].map((issue): Finding => {
    const objects = [
      subject,
      ...(issue.code === "two-givers" ? [`NetworkAttachmentDefinition ${plan?.network.key}`] : []),
    ];
    return finding(codeOf(issue), severities[issue.weight], objects, {
      message: describeIssue(subject, issue),
      remedy: remedyOf(issue),
    });
  });
}

function remedyOf(issue: Issue): string {
  if (issue.weight === "error") return "Until then the pool is not served. Change it as the sentence says.";
  if (costsIpv6(issue)) return "IPv4 is served all the same. Change it as the sentence says.";
  return "It is served. Change it as the sentence says when you can.";
}

function agentFaults(
  { deployments, pods, systemNamespace }: VmNetworksCheck,
  { object, key, reading }: VmPool,
): Finding[] {
  if (reading.plan === undefined || reading.plan.paused || object.metadata.deletionTimestamp !== undefined) return [];
  const isIts = (each: VmNetworksCheck["pods"][number] | VmNetworksCheck["deployments"][number]) =>
    poolKeysOf(each).includes(key);
  const deployment = deployments.find(isIts);
  const { ours } = sortPods(pods.filter(isIts), systemNamespace);
  const { condition } = agentStatusOf({ pool: object, deployment, pods: ours, holder: "" });
  const subject = describePool(object.metadata);
  // `holdfast up` answers for it by itself.
  const said = object.status?.conditions?.find(({ type }) => type === agentReadyCondition);
  if (deployment === undefined && said?.status === "True" && said.reason === inProcessReason) return [];
  if (condition.status && condition.reason === "Ready") return [];
  if (condition.status) {
    return found("vm-pool-agents", "warning", [subject], {
      message: `${subject} has fewer agents than it should: ${condition.message}`,
      remedy: "It is served all the same. See why the pod is not ready: kubectl describe pod has its events.",
    });
  }
  return found("vm-pool-agents", "error", [subject], {
    message: `${subject} has no agent that answers its clients: ${deployment === undefined ? (said?.message ?? condition.message) : condition.message}`,
    remedy:
      deployment === undefined
        ? "Is a controller leading (kubectl -n kube-system get lease holdfast-controller), and has it the rights of deploy/managed-dhcp/rights.yaml? An agent that was started by hand (holdfast agent) is not seen here."
        : `kubectl -n ${systemNamespace} describe deployment ${deployment.metadata.name} says what keeps its pods.`,
  });
}

function configFaults(
  { pools }: VmNetworksCheck,
  config: NetworkConfigReading,
  /** `NETWORK UID MAC FAMILY` of what is held. */
  given: ReadonlySet<string>,
): Finding[] {
  const subject = `${networkConfigKindName} ${config.key}`;
  const faults = issuesOf(config).map((issue): Finding =>
    finding("vm-config-faulty", severities[issue.weight], [subject], {
      message: describeIssue(subject, issue),
      remedy:
        issue.weight === "error"
          ? "Until then the NIC is not served; the others are. Change it as the sentence says."
          : "Change it as the sentence says when you can.",
    }),
  );
  const plans = pools.flatMap(({ reading }) => reading.plan ?? []);
  const without = config.nics.flatMap(({ plan }): Finding[] => {
    const here = config.paused ? [] : plans.filter(({ network }) => network.key === plan?.network.key);
    if (plan === undefined || here.length === 0) return [];
    const offered = here.some(({ ipv6 }) => ipv6 !== undefined) ? [4, 6] : [4];
    const missing = offered.filter((family) => !given.has(`${plan.network.key} ${config.uid} ${plan.mac} ${family}`));
    if (missing.length === 0) return [];
    const what = missing.length === offered.length ? "address" : `IPv${missing[0]} address`;
    return found("vm-config-without-hold", "warning", [subject], {
      message: `NIC ${plan.mac} of ${subject} asks for an ${what} of ${plan.network.key}, and has none.`,
      remedy: `Seconds after it was made that is how it is. Then: kubectl -n ${config.namespace} describe vmnetcfg ${config.name} says why it is pending; is the pool full (holdfast leases), is a controller leading?`,
    });
  });
  return [...faults, ...without];
}

function holdFaults({ configs, pools }: VmNetworksCheck, { hold, object, cooling, network }: VmHold): Finding[] {
  const { owner, note } = hold;
  if (cooling !== undefined || owner.kind !== "nic" || note?.keeper !== undefined) return [];
  const config = configs.find(({ uid }) => uid === owner.uid);
  const has = config?.nics.some(({ plan }) => plan?.mac === owner.nic && plan.network.key === network) === true;
  const inPool = pools.some(({ key }) => key === note?.pool);
  const about = `${hold.address} of ${network} is held for ${describeOwner(owner)}`;
  return [
    ...(has
      ? []
      : found("vm-hold-without-config", "warning", [object], {
          message:
            config === undefined
              ? `${about}, whose vmnetcfg does not exist.`
              : `${about}, and its vmnetcfg has no such NIC.`,
          remedy:
            "The controller frees it after a second look, and it rests for the lease time. If it stays: is a controller leading?",
        })),
    ...(inPool
      ? []
      : found("vm-hold-without-pool", "warning", [object], {
          message: `${about}, and ${note?.pool === undefined ? "names no pool" : `ippl ${note.pool} does not exist`}: no agent serves it.`,
          remedy: "Make the pool again: VMs keep their addresses. Or delete the vmnetcfg, and the address is freed.",
        })),
  ];
}

/** One NIC has one address of each family. */
function twoAddresses(holds: readonly VmHold[]): Finding[] {
  const held = holds.filter(({ cooling, hold }) => cooling === undefined && hold.owner.kind === "nic");
  const groups = Map.groupBy(held, (each) => `${nicKeyOf(each)} ${each.hold.address.family}`);
  return [...groups.values()]
    .filter((group) => group.length > 1)
    .map((group): Finding => {
      const sorted = group.toSorted((a, b) => compare(a.hold.address, b.hold.address));
      const addresses = sorted.map(({ hold }) => hold.address.toString()).join(" and ");
      return finding(
        "two-addresses",
        "warning",
        sorted.map(({ object }) => object),
        {
          message: `${describeOwner(group[0]!.hold.owner)} holds ${addresses} of ${group[0]!.network}.`,
          remedy: "Its vmnetcfg's status shows the one that is served: delete the object of the other.",
        },
      );
    });
}

function nicKeyOf({ hold: { owner }, network }: VmHold): string {
  return `${network} ${owner.uid} ${owner.kind === "nic" ? owner.nic : ""}`;
}
