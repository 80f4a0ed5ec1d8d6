// The kinds that a chart installs: each is stored, listed and removed, whatever acts on it in a cluster.
import { expect } from "vitest";

import { del, get, mergePatch, post } from "../call.ts";
import { unique, type Case, type Subject } from "../fixture.ts";
import { deployment } from "../fixtures.ts";
import { dig, names } from "../object.ts";

interface Row {
  readonly kind: string;
  readonly apiVersion: string;
  readonly plural: string;
  readonly cluster?: true;
  readonly body: object;
}

const selector = { matchLabels: { app: "a" } };
const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "main", image: "busybox" }] } };
const rbac = "rbac.authorization.k8s.io/v1";
const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] }];
const roleRef = (kind: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name: "reader" });
const flow = "flowcontrol.apiserver.k8s.io/v1";

const rows: readonly Row[] = [
  { kind: "ServiceAccount", apiVersion: "v1", plural: "serviceaccounts", body: {} },
  {
    kind: "Service",
    apiVersion: "v1",
    plural: "services",
    body: { spec: { selector: { app: "a" }, ports: [{ port: 443 }] } },
  },
  { kind: "DaemonSet", apiVersion: "apps/v1", plural: "daemonsets", body: { spec: { selector, template } } },
  {
    kind: "StatefulSet",
    apiVersion: "apps/v1",
    plural: "statefulsets",
    body: { spec: { selector, template, serviceName: "a" } },
  },
  { kind: "Role", apiVersion: rbac, plural: "roles", body: { rules } },
  {
    kind: "RoleBinding",
    apiVersion: rbac,
    plural: "rolebindings",
    body: { roleRef: roleRef("Role"), subjects: [{ kind: "ServiceAccount", name: "a", namespace: "default" }] },
  },
  { kind: "ClusterRole", apiVersion: rbac, plural: "clusterroles", cluster: true, body: { rules } },
  {
    kind: "ClusterRoleBinding",
    apiVersion: rbac,
    plural: "clusterrolebindings",
    cluster: true,
    body: { roleRef: roleRef("ClusterRole"), subjects: [{ kind: "ServiceAccount", name: "a", namespace: "default" }] },
  },
  {
    kind: "PodDisruptionBudget",
    apiVersion: "policy/v1",
    plural: "poddisruptionbudgets",
    body: { spec: { selector, minAvailable: 1 } },
  },
  {
    kind: "PriorityLevelConfiguration",
    apiVersion: flow,
    plural: "prioritylevelconfigurations",
    cluster: true,
    body: { spec: { type: "Limited", limited: { nominalConcurrencyShares: 5, limitResponse: { type: "Reject" } } } },
  },
  {
    kind: "FlowSchema",
    apiVersion: flow,
    plural: "flowschemas",
    cluster: true,
    body: { spec: { priorityLevelConfiguration: { name: "global-default" }, matchingPrecedence: 9000 } },
  },
];

const stored = ({ kind, apiVersion, plural, cluster, body }: Row): [string, Case] => [
  `a ${kind} is made, read, listed and removed`,
  async (fixture) => {
    const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const collection = cluster === true ? `${root}/${plural}` : `${root}/namespaces/${fixture.namespace}/${plural}`;
    const name = unique("a");
    const made = await fixture.lend(collection, {
      apiVersion,
      kind,
      metadata: { name, labels: { owner: fixture.namespace } },
      ...body,
    });
    expect(made).toMatchObject({ kind, apiVersion, ...body });
    expect(await fixture.api.done(get(`${collection}/${name}`))).toMatchObject({
      metadata: { uid: made.metadata.uid },
    });
    const labelSelector = `owner=${fixture.namespace}`;
    const list = await fixture.api.list(collection, { labelSelector });
    expect([list.kind, names(list)]).toEqual([`${kind}List`, [name]]);
    const changed = await fixture.api.done(
      mergePatch(`${collection}/${name}`, { metadata: { annotations: { x: "y" } } }),
    );
    expect(changed.metadata.annotations).toMatchObject({ x: "y" });
    await fixture.api.done(del(`${collection}/${name}`));
    expect(names(await fixture.api.list(collection, { labelSelector }))).toEqual([]);
  },
];

export const chart: Subject = {
  name: "the kinds of a chart",
  cases: {
    ...Object.fromEntries(rows.map(stored)),
    "a deployment gets its defaults": async (fixture) => {
      const { spec: full } = deployment("a");
      const { replicas: _default, ...spec } = full;
      expect((await fixture.make("deployments", { metadata: { name: "a" }, spec }))["spec"]).toMatchObject({
        replicas: 1,
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
        template: { spec: { restartPolicy: "Always", terminationGracePeriodSeconds: 30 } },
      });
    },
    "a deployment's selector selects its template": async (fixture) => {
      const body = deployment("a");
      const spec = { ...body.spec, selector: { matchLabels: { app: "other" } } };
      const status = await fixture.api.refused(post(fixture.at("deployments"), { ...body, spec }), 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toContain("spec.template.metadata.labels");
    },
    "a deployment's selector cannot be changed": async (fixture) => {
      await fixture.make("deployments", deployment("a"));
      const labels = { app: "b" };
      const patch = { spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } } };
      const status = await fixture.api.refused(mergePatch(fixture.at("deployments", "a"), patch), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "spec.selector" });
    },
    "a deployment's status is written apart": async (fixture) => {
      await fixture.make("deployments", deployment("a"));
      const call = mergePatch(fixture.at("deployments", "a", "status"), {
        spec: { replicas: 9 },
        status: { readyReplicas: 0, replicas: 1 },
      });
      const after = await fixture.api.done(call);
      expect([dig(after, "spec", "replicas"), dig(after, "status", "replicas")]).toEqual([1, 1]);
    },
    "what a role binding refers to cannot be changed": async (fixture) => {
      const body = { metadata: { name: "a" }, roleRef: roleRef("Role"), subjects: [] };
      const path = `/apis/${rbac}/namespaces/${fixture.namespace}/rolebindings`;
      await fixture.api.done(post(path, body));
      await fixture.api.refused(mergePatch(`${path}/a`, { roleRef: { name: "other" } }), 422, "Invalid");
    },
  },
};
