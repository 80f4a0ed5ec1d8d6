// What the handlers read for an answer, and when they read nothing: a failing view stands for an absent API server.
import { describe, expect, test } from "vitest";

import type { AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { AdmissionHandler } from "../../kube/admission/admission.ts";
import type { AnyObject } from "../../kube/meta.ts";
import { type NetworkConfigReading, readNetworkConfig } from "../rules/read-network-config.ts";
import { readPool } from "../rules/read-pool.ts";
import { definitionHandler } from "./definition-handler.ts";
import { networkConfigHandler } from "./network-config-handler.ts";
import { poolDefaultsHandler, poolHandler } from "./pool-handler.ts";
import type { Reading, VmnetView } from "./view.ts";

const self = "system:serviceaccount:kube-system:holdfast-controller";
const { signal } = new AbortController();

const fails = async (): Promise<never> => {
  throw new Error("the API server is away");
};
const away = {
  definition: fails,
  poolsOf: fails,
  configsOf: fails,
  holdsOf: fails,
  holderOf: fails,
  clusterRanges: fails,
  trusted: new Set<string>(),
} satisfies Partial<VmnetView>;

const pool = poolHandler(away, () => self);
const config = networkConfigHandler(away, () => self);
const definition = definitionHandler(away, () => self);

const object = (spec: object, metadata: object = {}) =>
  ({ metadata: { namespace: "a", name: "x", ...metadata }, spec }) as AnyObject;
const good = object({ networkName: "a/net", ipv4Config: { cidr: "10.1.0.0/24" } });
const grown = object({ networkName: "a/net", ipv4Config: { cidr: "10.1.0.0/23" } });
const bad = object({ networkName: "a/net", ipv4Config: { cidr: "zz" } });
const nics = object({ vmName: "x", networkConfigs: [{ networkName: "a/net", macAddress: "02:00:00:00:00:01" }] });
const plain = object({ config: '{"type":"bridge"}' });
const managed = object({ config: '{"type":"bridge","ipam":{"type":"dhcp"}}' });

function asked(
  handler: AdmissionHandler,
  operation: AdmissionRequest["operation"],
  objects: { before?: AnyObject; after?: AnyObject },
  more: Partial<AdmissionRequest> = {},
) {
  const place = { kind: { group: "", version: "", kind: "" }, resource: { group: "", version: "", resource: "" } };
  const request: AdmissionRequest = {
    uid: "u",
    ...place,
    subResource: undefined,
    name: "x",
    namespace: "a",
    operation,
    username: "tenant",
    groups: [],
    dryRun: false,
    object: objects.after,
    oldObject: objects.before,
    ...more,
  };
  return handler(request, { signal });
}

describe("two pools of one network", () => {
  const dual = (cidr: string, of: string, metadata: object = {}) =>
    object({ networkName: "a/net", ipv4Config: { cidr }, ipv6Config: { cidr: of } }, metadata);
  const older = dual("10.2.0.0/24", "fd00:1::/64", { name: "older", creationTimestamp: "2026-01-01T00:00:00Z" });
  const here = poolHandler(
    {
      ...away,
      definition: async () => ({ config: "{}" }),
      poolsOf: async () => [{ ...readPool(older), key: "a/older" }],
      holdsOf: async () => [],
      clusterRanges: async () => [],
    },
    () => self,
  );
  test.each([
    ["subnets apart", "fd00:2::/64", true],
    ["one subnet of IPv6", "fd00:1::/64", false],
    ["one within the other", "fd00:1::/80", false],
  ])("%s", async (_, cidr, allowed) => {
    expect(await asked(here, "CREATE", { after: dual("10.1.0.0/24", cidr) })).toMatchObject({ allowed });
    const before = dual("10.1.0.0/24", "fd00:3::/64");
    expect(await asked(here, "UPDATE", { before, after: dual("10.1.0.0/24", cidr) })).toMatchObject({ allowed });
  });
});

const away503 = "the API server is away";

describe("nothing is read", () => {
  test.each([
    ["of what is wrong in itself: a pool", pool, "CREATE", { after: bad }, false],
    [
      "of a pool whose spec is the same",
      pool,
      "UPDATE",
      { before: good, after: object({ ...(good["spec"] as object) }, { labels: { a: "b" } }) },
      true,
    ],
    [
      "of a pool that is being deleted",
      pool,
      "UPDATE",
      { before: good, after: object({ ...(grown["spec"] as object) }, { deletionTimestamp: "x" }) },
      true,
    ],
    ["of an unreadable pool's end", pool, "DELETE", { before: bad }, true],
    ["of a network config whose spec is the same", config, "UPDATE", { before: nics, after: nics }, true],
    ["of a network config without a NIC", config, "CREATE", { after: object({ vmName: "x" }) }, false],
    ["of a network that gives nothing", definition, "CREATE", { after: plain }, true],
    ["of a network whose config is the same", definition, "UPDATE", { before: managed, after: managed }, true],
  ] as const)("%s", async (_, handler, operation, objects, allowed) => {
    expect(await asked(handler, operation, objects)).toMatchObject({ allowed });
  });

  test.each([
    ["our controller", self],
    ["garbage collection", "system:serviceaccount:kube-system:generic-garbage-collector"],
    ["the end of a namespace", "system:serviceaccount:kube-system:namespace-controller"],
  ])("of what %s does", async (_, username) => {
    const as = { username };
    expect(await asked(pool, "DELETE", { before: good }, as)).toEqual({ allowed: true });
    expect(await asked(pool, "CREATE", { after: good }, as)).toEqual({ allowed: true });
    expect(await asked(config, "CREATE", { after: nics }, as)).toEqual({ allowed: true });
    expect(await asked(definition, "DELETE", { before: plain }, as)).toEqual({ allowed: true });
  });

  test("of a status", async () => {
    const status = { subResource: "status" };
    expect(await asked(pool, "UPDATE", { before: good, after: grown }, status)).toEqual({ allowed: true });
    expect(await asked(config, "UPDATE", { before: nics, after: nics }, status)).toEqual({ allowed: true });
  });
});

describe("a failed read is an error, and the API server goes on", () => {
  test.each([
    ["a pool's creation", pool, "CREATE", { after: good }],
    ["a pool's change", pool, "UPDATE", { before: good, after: grown }],
    ["a pool's end", pool, "DELETE", { before: good }],
    ["a network config", config, "CREATE", { after: nics }],
    ["a network's end", definition, "DELETE", { before: plain }],
    ["a network with an ipam", definition, "UPDATE", { before: plain, after: managed }],
  ] as const)("%s", async (_, handler, operation, objects) => {
    await expect(asked(handler, operation, objects)).rejects.toThrow(away503);
  });
});

describe("a network config beside what the controller follows", () => {
  const twin = readNetworkConfig({
    metadata: { namespace: "a", name: "older", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { vmName: "older", networkConfigs: [{ networkName: "a/net", macAddress: "02:00:00:00:00:01" }] },
  });
  /** Key: whether the answer may be old. */
  const judged = async (configs: {
    readonly old: readonly NetworkConfigReading[];
    readonly now: readonly NetworkConfigReading[];
  }) => {
    let lists = 0;
    const view = {
      ...away,
      definition: async () => ({ config: "{}" }),
      poolsOf: async () => [],
      configsOf: async (_: unknown, { mayBeOld = false }: Reading) => {
        if (!mayBeOld) lists += 1;
        return mayBeOld ? configs.old : configs.now;
      },
    };
    const { allowed } = await asked(
      networkConfigHandler(view, () => self),
      "CREATE",
      { after: nics },
    );
    return { allowed, lists };
  };

  test("is let pass by it, and refused by the server's word alone", async () => {
    expect(await judged({ old: [], now: [twin] })).toEqual({ allowed: true, lists: 0 });
    expect(await judged({ old: [twin], now: [] })).toEqual({ allowed: true, lists: 1 });
    expect(await judged({ old: [twin], now: [twin] })).toEqual({ allowed: false, lists: 1 });
  });
});

describe("defaults", () => {
  test("are a patch of a new pool, and of nothing else", async () => {
    const defaults = poolDefaultsHandler();
    expect(await asked(defaults, "CREATE", { after: good })).toMatchObject({
      allowed: true,
      patch: [{ path: "/spec/ipv4Config/serverIP", value: "10.1.0.1" }, { path: "/spec/ipv4Config/pool" }],
    });
    expect(await asked(defaults, "CREATE", { after: bad })).toEqual({ allowed: true });
    expect(await asked(defaults, "UPDATE", { before: good, after: good })).toEqual({ allowed: true });
  });
});
