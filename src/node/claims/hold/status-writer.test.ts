import { setTimeout as pause } from "node:timers/promises";

import { beforeEach, describe, expect, it } from "vitest";

import { allocationReasons } from "../../../api/claims/claim-marks.ts";
import { ipamClaimKind } from "../../../api/claims/ipam-claim.ts";
import { definitionOf } from "../../../api/definition.ts";
import { openApi } from "../../../apiserver/api.ts";
import { ipamClaims, type StoredClaim } from "../../../cluster/resources.ts";
import { realClock } from "../../../kube/clock.ts";
import type { AnyObject } from "../../../kube/meta.ts";
import { defineResource } from "../../../kube/resource.ts";
import { KubeClient } from "../../../kube/rest.ts";
import type { Transport } from "../../../kube/transport/transport.ts";
import { silent } from "../../../log/log.ts";
import { type StatusOrder, StatusWriter } from "./status-writer.ts";

const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const namespace = "default";

let admin: KubeClient;
let client: KubeClient;
/** Answered in place of the server, once each. */
let troubles: (() => Promise<never>)[];
let patches: number;
let claim: StoredClaim;
let number = 0;
const api = openApi({ path: ":memory:" });

beforeEach(async () => {
  [troubles, patches] = [[], 0];
  admin = new KubeClient({ transport: api.transport });
  const transport: Transport = async (request) => {
    const trouble = request.method === "PATCH" ? troubles.shift() : undefined;
    if (request.method === "PATCH") patches += 1;
    return trouble === undefined ? api.transport(request) : trouble();
  };
  client = new KubeClient({ transport });
  if (number === 0) await admin.create(crds, definitionOf(ipamClaimKind) as unknown as AnyObject);
  number += 1;
  claim = await admin.create(ipamClaims, {
    metadata: { namespace, name: `c${number}` },
    spec: { network: "net", interface: "" },
  });
});

const orderOf = (ip: string, of: StoredClaim = claim): StatusOrder => ({
  claim: of,
  make: () => ({ ips: [ip], pod: "p", condition: { reason: allocationReasons.done, message: ip } }),
});
const read = (name = claim.metadata.name!) => admin.get(ipamClaims, { namespace, name });

/** Runs it until all that was ordered is done. */
async function run(work: (writer: StatusWriter) => void): Promise<void> {
  const writer = new StatusWriter({ client, clock: realClock, log: silent });
  const stop = new AbortController();
  const ended = writer.run(stop.signal);
  work(writer);
  stop.abort();
  await ended;
}

describe("the writer of statuses", () => {
  it("writes what is left when it is told to stop", async () => {
    await run((writer) => writer.write(orderOf("10.0.0.7/24")));
    expect((await read()).status).toMatchObject({ ips: ["10.0.0.7/24"], ownerPod: { name: "p" } });
  });

  it("is not in the way of what is noted on the claim meanwhile", async () => {
    const body = { metadata: { labels: { noted: "yes" } } };
    await admin.patch(ipamClaims, { namespace, name: claim.metadata.name! }, { type: "merge", body });
    const writer = new StatusWriter({ client, clock: realClock, log: silent });
    const { signal } = new AbortController();
    expect(await writer.settle(orderOf("10.0.0.7/24"), () => false, signal)).toBeUndefined();
    const now = await read();
    expect([now.status?.ips, now.metadata.labels, patches]).toEqual([["10.0.0.7/24"], { noted: "yes" }, 1]);
  });

  it.each([true, false])(
    "never goes over a status that it has not read, also where it saw none: %s",
    async (sawNone) => {
      const writer = new StatusWriter({ client, clock: realClock, log: silent });
      const { signal } = new AbortController();
      await writer.settle(orderOf("10.0.0.7/24"), () => true, signal);
      const seen = sawNone ? claim : await read();
      await writer.settle(orderOf("10.0.0.8/24", await read()), () => true, signal);
      const found = await writer.settle(orderOf("10.0.0.9/24", seen), () => false, signal);
      expect(found?.status?.ips).toEqual(["10.0.0.8/24"]);
      expect((await read()).status?.ips).toEqual(["10.0.0.8/24"]);
    },
  );

  it("writes the last word of several, and nothing where nothing changes", async () => {
    await run((writer) => {
      for (const last of [7, 8, 9]) writer.write(orderOf(`10.0.0.${last}/24`));
    });
    expect((await read()).status?.ips).toEqual(["10.0.0.9/24"]);
    expect(patches).toBe(1);
    claim = await read();
    await run((writer) => writer.write(orderOf("10.0.0.9/24")));
    expect(patches).toBe(1);
  });

  it("reads again where somebody else has written, and keeps what that was", async () => {
    const body = { status: { ips: [], conditions: [{ type: "Other", status: "True" }] } };
    await admin.patch(
      ipamClaims,
      { namespace, name: claim.metadata.name! },
      { type: "merge", body },
      { subresource: "status" },
    );
    await run((writer) => writer.write(orderOf("10.0.0.7/24")));
    const { status } = await read();
    expect(status?.ips).toEqual(["10.0.0.7/24"]);
    expect(status?.conditions?.map(({ type }) => type)).toEqual(["Other", "IPsAllocated"]);
  });

  it("writes nothing into a claim of a later life under the same name", async () => {
    const { name } = claim.metadata;
    await admin.delete(ipamClaims, { namespace, name: name! });
    await admin.create(ipamClaims, { metadata: { namespace, name: name! }, spec: { network: "net", interface: "" } });
    await run((writer) => writer.write(orderOf("10.0.0.7/24")));
    expect((await read()).status).toBeUndefined();
  });

  it("settles who of two came first: the second is told what the claim says, and writes nothing", async () => {
    const writer = new StatusWriter({ client, clock: realClock, log: silent });
    const isOpen = ({ status }: typeof claim) => (status?.ips ?? []).length === 0;
    const { signal } = new AbortController();
    // Other parts of the claim may change meanwhile.
    const labels = { metadata: { labels: { some: "label" } } };
    await admin.patch(ipamClaims, { namespace, name: claim.metadata.name! }, { type: "merge", body: labels });
    expect(await writer.settle(orderOf("10.0.0.7/24"), isOpen, signal)).toBeUndefined();
    const found = await writer.settle(orderOf("10.0.0.8/24"), isOpen, signal);
    expect(found?.status?.ips).toEqual(["10.0.0.7/24"]);
    expect((await read()).status?.ips).toEqual(["10.0.0.7/24"]);
  });

  it("a settlement whose answer was lost is read back", async () => {
    const writer = new StatusWriter({ client, clock: realClock, log: silent });
    troubles = [() => Promise.reject(new Error("the line was cut"))];
    const settled = await writer.settle(orderOf("10.0.0.7/24"), () => true, new AbortController().signal);
    expect(settled).toBeUndefined();
    expect((await read()).status?.ips).toEqual(["10.0.0.7/24"]);
  });

  it("tries again after a failure, and does not mind a claim that is gone", async () => {
    troubles = [() => Promise.reject(new Error("the line was cut"))];
    const writer = new StatusWriter({ client, clock: realClock, log: silent });
    const stop = new AbortController();
    const ended = writer.run(stop.signal);
    writer.write(orderOf("10.0.0.7/24"));
    const gone = { ...claim, metadata: { ...claim.metadata, name: "nobody", uid: "nobody" } };
    writer.write(orderOf("10.0.0.8/24", gone));
    while ((await read()).status === undefined) await pause(20);
    stop.abort();
    await ended;
    expect((await read()).status?.ips).toEqual(["10.0.0.7/24"]);
  });
});
