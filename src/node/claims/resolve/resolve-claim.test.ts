import { expect, it } from "vitest";

import { CniError, errorCodes } from "../../../cni/error.ts";
import type { AttachmentInvocation } from "../../../cni/invocation.ts";
import { ApiError } from "../../../kube/errors.ts";
import { silent } from "../../../log/log.ts";
import type { DaemonContext } from "../../context.ts";
import type { LoadedConfig } from "../../request/configurations.ts";
import type { PodFacts, PodQuery } from "../../request/pods.ts";
import type { ClaimWish } from "./claim-query.ts";
import { claimOf } from "./resolve-claim.ts";

const { signal } = new AbortController();
const invocation = { interfaceName: "net1", args: { podUid: "u" } } as AttachmentInvocation;
const configOf = (isAllowed: boolean) => ({ config: {}, persistence: { isAllowed, network: "net" } }) as LoadedConfig;
const podOf = (networks: string, isLauncher = false): PodFacts => {
  const annotations = { "k8s.v1.cni.cncf.io/networks": networks, "kubevirt.io/domain": "vm" };
  const labels = isLauncher ? { "kubevirt.io": "virt-launcher" } : {};
  const object = { metadata: { name: "p", annotations, labels } };
  return { uid: "u", namespace: "ns", name: "p", annotations, isMirror: false, object };
};
const referring = '[{"name":"nad","ipam-claim-reference":"c"}]';

interface World {
  /** What the API server has. */
  readonly fresh?: PodFacts;
  readonly failure?: Error;
  readonly isWhole?: boolean;
}

function partsOf({ fresh, failure, isWhole = false }: World) {
  const seen: { queries: PodQuery[]; wishes: ClaimWish[]; events: string[] } = { queries: [], wishes: [], events: [] };
  const parts = {
    findPod: async (query: PodQuery) => (seen.queries.push(query), fresh),
    claims: {
      find: async (wish: ClaimWish) => {
        seen.wishes.push(wish);
        if (failure !== undefined) throw failure;
        return undefined;
      },
    },
    readiness: { assertKnown: async () => {} },
    sliced: { isWhole: () => isWhole },
    tell: (_: unknown, _type: string, reason: string) => void seen.events.push(reason),
    log: silent,
  } as unknown as DaemonContext;
  return { parts, seen };
}

it("a NIC that the informer does not have yet is asked for, and found", async () => {
  const { parts, seen } = partsOf({ fresh: podOf(referring) });
  const { pod } = await claimOf(parts, invocation, configOf(true), podOf("[]"), { signal, mayWait: true });
  expect(seen.queries).toMatchObject([{ name: "p", uid: "u", isFresh: true }]);
  expect(seen.wishes).toMatchObject([{ reference: "c" }]);
  expect(pod?.annotations["k8s.v1.cni.cncf.io/networks"]).toBe(referring);
});

it("what the informer has, and networks that keep nothing, cost no read", async () => {
  const { parts, seen } = partsOf({});
  await claimOf(parts, invocation, configOf(true), podOf(referring), { signal, mayWait: true });
  await claimOf(parts, invocation, configOf(false), podOf("[]"), { signal, mayWait: true });
  expect(seen.queries).toEqual([]);
  expect(seen.wishes).toHaveLength(1);
});

it("a claim that does not come is an event on the pod", async () => {
  const { parts, seen } = partsOf({ failure: new CniError(errorCodes.tryAgainLater, "not there") });
  const asked = claimOf(parts, invocation, configOf(true), podOf(referring), { signal, mayWait: true });
  await expect(asked).rejects.toMatchObject({ code: 11 });
  expect(seen.events).toEqual(["WaitingForClaim"]);
});

const away = new ApiError("unreachable", "nobody answers");
const forbidden = new ApiError("forbidden", "no right");
it.each([
  ["a network that keeps addresses", true, away, true, true],
  ["one that keeps none, and all nodes share", false, away, false, true],
  ["one that keeps none, of this node's slices alone", false, away, true, false],
  ["one that keeps none, and a daemon without the right", false, forbidden, false, false],
  ["a network that keeps addresses, and a daemon without the right", true, forbidden, false, true],
])("a VM that cannot be asked for: %s", async (_, isAllowed, failure, isWhole, fails) => {
  const { parts } = partsOf({ failure, isWhole, fresh: podOf(referring.replace(/,"ipam.*"c"/, ""), true) });
  const pod = podOf('[{"name":"nad"}]', true);
  const asked = claimOf(parts, invocation, configOf(isAllowed), pod, { signal, mayWait: true });
  if (fails) await expect(asked).rejects.toBe(failure);
  else expect(await asked).toEqual({ pod, claim: undefined });
});
