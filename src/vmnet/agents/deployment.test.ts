// The objects of a pool's agents, as values: names that never meet, where they run, what they may do, what is held.
import { describe, expect, it } from "vitest";

import { poolNameLabelName } from "../../api/vmnet/marks.ts";
import type { Node, StoredManagedPool } from "../../cluster/resources.ts";
import { agentBudget, agentDeployment, type AgentPlan, replicasAsked } from "./deployment.ts";
import { hasDrifted, isOwn, repaired } from "./drift.ts";
import { agentName, agentSelector, networkLabels } from "./names.ts";
import { placementOf } from "./placement.ts";

const settings = { systemNamespace: "kube-system", image: "localhost/holdfast:1", replicas: 2 };
const network = { namespace: "shop", name: "net-48" };

function poolOf(
  more: { annotations?: Record<string, string>; paused?: boolean; name?: string } = {},
): StoredManagedPool {
  const { annotations, paused, name = "blue" } = more;
  return {
    metadata: { namespace: "shop", name, ...(annotations && { annotations }) },
    spec: {
      networkName: "shop/net-48",
      ipv4Config: { cidr: "10.0.0.0/24" },
      ...(paused !== undefined && { paused }),
    },
  };
}

const planOf = (more: Partial<AgentPlan> = {}): AgentPlan => ({
  pool: poolOf(),
  network,
  placement: placementOf("provider", []),
  ...more,
});

function nodeOf(name: string, of: string, ...taints: readonly string[]): Node {
  const read = (text: string) => {
    const [key = "", effect = ""] = text.split(":");
    return { key, effect };
  };
  return {
    metadata: { name, labels: { [`network.harvesterhci.io/${of}`]: "true" } },
    spec: { taints: taints.map(read) },
  };
}

describe("a name", () => {
  it.each([
    ["default", "net", "default-net-agent"],
    ["default", "priv-net-all", "default-priv-net-all-agent"],
  ])("of %s/%s is the one that Harvester gives", (namespace, name, expected) => {
    expect(agentName({ namespace, name })).toBe(expected);
  });

  it.each([
    [
      { namespace: "a-b", name: "c" },
      { namespace: "a", name: "b-c" },
    ],
    [
      { namespace: "a", name: "b.c" },
      { namespace: "a", name: "b-c" },
    ],
    [
      { namespace: "a", name: `${"long-".repeat(20)}1` },
      { namespace: "a", name: `${"long-".repeat(20)}2` },
    ],
    [
      { namespace: "a-agent", name: "x" },
      { namespace: "a", name: "agent-x" },
    ],
  ])("of %o is not that of %o", (one, other) => {
    expect(agentName(one)).not.toBe(agentName(other));
    for (const pool of [one, other]) {
      expect(agentName(pool)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
      expect(agentName(pool).length).toBeLessThanOrEqual(46);
      expect(agentName(pool)).toContain("-agent");
    }
  });

  it("that is longer than a label's value still selects its own pods only", () => {
    const [one, other] = ["1", "2"].map((end) => ({ namespace: "a", name: `${"n".repeat(100)}${end}` }));
    expect(agentSelector(one!)).not.toEqual(agentSelector(other!));
    for (const value of Object.values(agentSelector(one!))) expect(value.length).toBeLessThanOrEqual(63);
    expect(networkLabels(one!)).toBeUndefined();
    expect(networkLabels({ namespace: "a", name: "n" })).toMatchObject({ [poolNameLabelName]: "n" });
  });
});

describe("where agents run", () => {
  const controlPlane = "node-role.kubernetes.io/control-plane:NoSchedule";
  const etcd = "node-role.kubernetes.io/etcd:NoExecute";
  const keysOf = (nodes: readonly Node[], of: string | undefined = "provider") =>
    placementOf(of, nodes)
      .tolerations.map(({ key, effect }) => `${key}:${effect}`)
      .filter((key) => key.includes("role"));

  it.each<[string, readonly Node[], readonly string[]]>([
    ["no node at all", [], []],
    ["workers only", [nodeOf("w1", "provider"), nodeOf("w2", "provider")], []],
    ["both: the worker is enough", [nodeOf("c1", "provider", controlPlane), nodeOf("w1", "provider")], []],
    [
      "control plane only",
      [nodeOf("c1", "provider", controlPlane), nodeOf("c2", "provider", controlPlane, etcd)],
      [controlPlane, etcd],
    ],
    ["a worker without this network", [nodeOf("c1", "provider", controlPlane), nodeOf("w1", "other")], [controlPlane]],
    ["a worker that is not ready", [nodeOf("w1", "provider", "node.kubernetes.io/unreachable:NoExecute")], []],
    [
      "a taint that only asks",
      [nodeOf("c1", "provider", "node-role.kubernetes.io/control-plane:PreferNoSchedule")],
      [],
    ],
  ])("%s", (_, nodes, expected) => {
    expect(keysOf(nodes)).toEqual(expected);
  });

  it("a lost node changes nothing, so that no Deployment rolls because of it", () => {
    const healthy = [nodeOf("c1", "provider", controlPlane), nodeOf("c2", "provider", controlPlane)];
    const lost = [healthy[0]!, nodeOf("c2", "provider", controlPlane, "node.kubernetes.io/unreachable:NoExecute")];
    expect(placementOf("provider", lost)).toEqual(placementOf("provider", healthy));
  });

  it("a network with a label is on the nodes of its cluster network, and must be", () => {
    const { spec } = agentDeployment(planOf(), settings);
    expect(spec.template.spec["affinity"]).toMatchObject({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "network.harvesterhci.io/provider", operator: "In", values: ["true"] }] },
          ],
        },
      },
    });
  });

  it("a network without one may be anywhere", () => {
    const placement = placementOf(undefined, [nodeOf("w1", "provider")]);
    const { spec } = agentDeployment(planOf({ placement }), settings);
    expect(spec.template.spec["affinity"]).not.toHaveProperty("nodeAffinity");
    expect(placement).toMatchObject({ nodeCount: 1 });
    expect(placement).not.toHaveProperty("nodeLabel");
  });

  it("two agents prefer two nodes", () => {
    const { spec } = agentDeployment(planOf(), settings);
    const [term] = (
      spec.template.spec["affinity"] as {
        podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: { podAffinityTerm: object }[] };
      }
    ).podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
    expect(term?.podAffinityTerm).toEqual({
      topologyKey: "kubernetes.io/hostname",
      labelSelector: { matchLabels: spec.selector.matchLabels },
    });
  });
});

describe("an agent", () => {
  const { metadata, spec } = agentDeployment(planOf(), settings);
  const [agent] = spec.template.spec.containers;

  it("is attached to the network of its pool as eth1, and serves there", () => {
    const text = spec.template.metadata.annotations["k8s.v1.cni.cncf.io/networks"] ?? "";
    expect(JSON.parse(text)).toEqual([{ namespace: "shop", name: "net-48", interface: "eth1" }]);
    expect(agent?.args.slice(0, 2)).toEqual(["agent", "--pool=shop/blue=eth1"]);
  });

  it("is told whose pools count, as the controller is", () => {
    const told = agentDeployment(planOf(), { ...settings, trustedNamespaces: ["infra", "default"] });
    expect(told.spec.template.spec.containers[0]?.args).toContain("--trusted-namespaces=infra,default");
  });

  it("has of root's powers NET_RAW, and nothing of its node", () => {
    expect(agent?.["securityContext"]).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["NET_RAW"] },
    });
    for (const key of ["hostNetwork", "hostPID", "hostIPC"]) expect(spec.template.spec).not.toHaveProperty(key);
    expect(spec.template.spec["volumes"]).toEqual([{ name: "state", emptyDir: { sizeLimit: "256Mi" } }]);
  });

  it("is found by Harvester's labels, and selected by labels that it has", () => {
    expect(metadata.labels).toMatchObject({
      "network.harvesterhci.io/vm-dhcp-controller": "agent",
      "network.harvesterhci.io/ippool-namespace": "shop",
      "network.harvesterhci.io/ippool-name": "blue",
    });
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    expect(agentBudget({ namespace: "shop", name: "blue" }, settings).spec).toEqual({
      maxUnavailable: 1,
      selector: spec.selector,
    });
  });

  it("is replaced by one that is ready first", () => {
    expect(spec["strategy"]).toEqual({ type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  });
});

describe("how many", () => {
  it.each<[string | undefined, boolean | undefined, number]>([
    [undefined, undefined, 2],
    ["1", undefined, 1],
    ["3", false, 3],
    ["0", undefined, 2],
    ["10", undefined, 2],
    ["two", undefined, 2],
    ["3", true, 0],
    [undefined, true, 0],
  ])("asked for %s, paused %s: %i", (asked, paused, expected) => {
    const annotations = asked === undefined ? undefined : { "holdfast.io/agent-replicas": asked };
    const pool = poolOf({ ...(annotations && { annotations }), ...(paused !== undefined && { paused }) });
    expect(agentDeployment(planOf({ pool }), settings).spec.replicas).toBe(expected);
    const isNumber = asked === undefined || /^[1-9]$/.test(asked);
    expect(replicasAsked(pool).isWrong).toBe(!isNumber);
  });
});

describe("an upgrade that is held back", () => {
  const held = poolOf({ annotations: { "network.harvesterhci.io/hold-ippool-agent-upgrade": "" } });
  const old = agentDeployment(planOf(), settings);

  it("keeps the image and all that came with it", () => {
    const wanted = agentDeployment(planOf({ pool: held, found: old }), { ...settings, image: "localhost/holdfast:2" });
    expect(wanted.spec.template).toEqual(old.spec.template);
    expect(hasDrifted(old, wanted)).toBe(false);
  });

  it("does not keep a pool without agents from getting some", () => {
    const wanted = agentDeployment(planOf({ pool: held }), { ...settings, image: "localhost/holdfast:2" });
    expect(wanted.spec.template.spec.containers[0]?.image).toBe("localhost/holdfast:2");
  });

  it("and one that is not held back is not", () => {
    const wanted = agentDeployment(planOf({ found: old }), { ...settings, image: "localhost/holdfast:2" });
    expect(wanted.spec.template.spec.containers[0]?.image).toBe("localhost/holdfast:2");
    expect(hasDrifted(old, wanted)).toBe(true);
  });
});

describe("drift", () => {
  const wanted = agentDeployment(planOf(), settings);
  const stored = () => structuredClone(wanted);

  it("is none where the server added defaults", () => {
    const found = stored();
    Object.assign(found.spec, { progressDeadlineSeconds: 600 });
    Object.assign(found.spec.template.spec, { restartPolicy: "Always", dnsPolicy: "ClusterFirst" });
    Object.assign(found.spec.template.spec.containers[0]!, { imagePullPolicy: "IfNotPresent" });
    expect(hasDrifted(found, wanted)).toBe(false);
  });

  it.each<[string, (found: ReturnType<typeof stored>) => void]>([
    ["a count", (found) => void (found.spec.replicas = 5)],
    ["an image", (found) => void (found.spec.template.spec.containers[0]!.image = "evil")],
    ["an argument", (found) => void (found.spec.template.spec.containers[0]!.args = ["agent"])],
    ["a label", (found) => void delete found.metadata.labels!["network.harvesterhci.io/ippool-name"]],
    [
      "a second container",
      (found) => void found.spec.template.spec.containers.push({ name: "b", image: "c", args: [] }),
    ],
    [
      "what we said before and say no more",
      (found) => void (found.metadata.annotations!["holdfast.io/agent-spec"] = "0"),
    ],
  ])("is seen in %s, and repaired", (_, change) => {
    const found = stored();
    change(found);
    expect(hasDrifted(found, wanted)).toBe(true);
    expect(hasDrifted(repaired(found, wanted), wanted)).toBe(false);
  });

  it("leaves what others wrote beside it, and what is not ours", () => {
    const found = stored();
    found.metadata = { ...found.metadata, resourceVersion: "7", uid: "u" };
    found.metadata.annotations!["tool.example/note"] = "kept";
    expect(repaired(found, wanted).metadata).toMatchObject({
      resourceVersion: "7",
      uid: "u",
      annotations: { "tool.example/note": "kept" },
    });
    expect(isOwn(found, wanted)).toBe(true);
    expect(isOwn({ metadata: { name: found.metadata.name! } }, wanted)).toBe(false);
  });
});
