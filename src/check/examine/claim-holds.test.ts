// Holds of claims as `holdfast check` sees them: what fits, what passes by itself, and what needs a look.
import { describe, expect, it } from "vitest";

import { continuesAnnotation } from "../../api/claims/claim-marks.ts";
import type { Node, Pod, StoredClaim } from "../../cluster/resources.ts";
import type { HoldUser } from "../../ipam/ledger.ts";
import { parseAddress } from "../../net/address.ts";
import { judge } from "../../pools/leaks/judge.ts";
import { factsOf, heldOf, poolOf } from "../../pools/leaks/testing/values.ts";
import { PoolIndex, poolRangeOf } from "../../pools/membership.ts";
import type { PoolHold } from "../../pools/pool-hold.ts";
import { examineClaims } from "./claim-holds.ts";
import { isSamePod } from "./pods.ts";

const user: HoldUser = { uid: "pod-1", name: "virt-launcher-vm-1", node: "n1" };

interface ClaimParts {
  readonly address?: string;
  readonly uid?: string;
  readonly part?: number;
  readonly users?: readonly HoldUser[];
  readonly isCooling?: boolean;
}

function held({ address = "10.0.0.7", uid = "claim-1", part, users = [user], isCooling }: ClaimParts = {}): PoolHold {
  const base = heldOf({ address });
  const owner = {
    kind: "claim",
    uid,
    namespace: "shop",
    name: "vm.blue",
    ...(part !== undefined && { part }),
  } as const;
  const hold = { ...base.hold, address: parseAddress(address), owner, users };
  return { ...base, hold, ...(isCooling === true && { cooling: { untilMs: 1, lastOwner: "x" as never } }) };
}

const claim = (uid: string, annotations: Record<string, string> = {}): Pick<StoredClaim, "metadata"> => ({
  metadata: { uid, namespace: "shop", name: "vm.blue", annotations },
});
const pod = (phase = "Running", uid = "pod-1"): Pod => ({
  metadata: { namespace: "shop", name: user.name, uid },
  spec: { nodeName: "n1" },
  status: { phase },
});

interface Scene {
  readonly held?: readonly PoolHold[];
  readonly claims?: readonly Pick<StoredClaim, "metadata">[];
  readonly pods?: readonly Pod[];
  readonly nodes?: readonly string[];
}

function look({ held: all = [held()], claims = [], pods = [], nodes = ["n1"] }: Scene) {
  const range = poolRangeOf(poolOf("10.0.0.0/24"))!;
  return examineClaims({
    held: all,
    claims: new Map(claims.map((each) => [each.metadata.uid ?? "", each])),
    pods: new Map(pods.map((each) => [`${each.metadata.namespace}/${each.metadata.name}`, each])),
    nodes: nodes.map((name): Node => ({ metadata: { name } })),
    index: new PoolIndex([range]),
  }).map(({ code, severity }) => `${severity} ${code}`);
}

describe("a claim's hold", () => {
  it.each<[string, Scene, string[]]>([
    ["whose claim is there", { claims: [claim("claim-1")], pods: [pod()] }, []],
    ["of a VM that is stopped: no pod, and no user", { claims: [claim("claim-1")], held: [held({ users: [] })] }, []],
    ["whose last pod has ended and is still listed", { claims: [claim("claim-1")], pods: [pod("Succeeded")] }, []],
    ["whose claim is gone", {}, ["warning claim-gone"]],
    ["whose claim is gone, and a namesake is there", { claims: [claim("claim-2")] }, ["warning claim-gone"]],
    ["whose claim is gone while its pod runs on", { pods: [pod()] }, ["info claim-gone"]],
    ["whose pod is another one now", { pods: [pod("Running", "pod-2")] }, ["warning claim-gone"]],
    ["whose pod has ended", { pods: [pod("Failed")] }, ["warning claim-gone"]],
    [
      "that a later claim continues",
      { claims: [claim("claim-2", { [continuesAnnotation]: "claim-1" })] },
      ["info claim-gone"],
    ],
    ["that cools down", { held: [held({ isCooling: true })] }, []],
    [
      "whose users cannot be read",
      { claims: [claim("claim-1")], held: [held({ users: [{ uid: "", name: "", node: "" }] })] },
      ["warning unreadable"],
    ],
    ["with a user whose pod and node are gone", { claims: [claim("claim-1")], nodes: ["n2"] }, ["info user-gone"]],
    ["with a user whose node alone is gone", { claims: [claim("claim-1")], nodes: ["n2"], pods: [pod()] }, []],
    [
      "twice in one range",
      { claims: [claim("claim-1")], held: [held(), held({ address: "10.0.0.8" })] },
      ["warning two-addresses"],
    ],
    [
      "in parts, where ranges overlap",
      { claims: [claim("claim-1")], held: [held(), held({ address: "10.0.0.8", part: 1 })] },
      [],
    ],
    [
      "and another claim's",
      { claims: [claim("claim-1"), claim("claim-2")], held: [held(), held({ address: "10.0.0.8", uid: "claim-2" })] },
      [],
    ],
  ])("%s", (_, scene, expected) => {
    expect(look(scene)).toEqual(expected);
  });

  it("is no leak, whatever became of pods of its name", () => {
    expect(judge(held(), factsOf({ pod: undefined }), { version: "o@1", firstMs: 0 }, 1e12)).toMatchObject({
      outcome: "keep",
    });
  });

  it.each<[string, readonly HoldUser[], boolean]>([
    ["is its user's", [user], true],
    ["is both pods' of a migration", [{ ...user, uid: "pod-0" }, user], true],
    ["is no other pod's", [{ ...user, uid: "pod-0" }], false],
    ["is nobody's whom it does not list", [], false],
    ["may be anybody's where the list cannot be read", [{ uid: "", name: "", node: "" }], true],
  ])("%s", (_, users, expected) => {
    expect(isSamePod(held({ users }).hold, pod())).toBe(expected);
  });

  it("is not a pod's of another namespace", () => {
    const other = { ...pod(), metadata: { ...pod().metadata, namespace: "other" } };
    expect(isSamePod(held().hold, other)).toBe(false);
  });
});
