// The way in and out: the kind IPAMClaim is put where there is none and never taken back; our finalizers are let go of.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { claimFinalizer } from "../../src/api/claims/claim-marks.ts";
import {
  claimDefinition,
  type ClaimDefinition,
  crdRevisionAnnotation,
  installClaimDefinition,
} from "../../src/claims/crd.ts";
import { releaseFinalizers } from "../../src/claims/uninstall.ts";
import { ipamClaims, leases } from "../../src/cluster/resources.ts";
import { isApiError } from "../../src/kube/errors.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { until } from "../lab/wait.ts";

export interface SetupFixture {
  readonly client: KubeClient;
  stop(): Promise<void>;
}

const definitions = defineResource<ClaimDefinition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const at = { name: "ipamclaims.k8s.cni.cncf.io" };
const signal = new AbortController().signal;

/** What an install writes. A served kind's status is written by the API server: its version changes by itself. */
function written({ metadata, spec }: ClaimDefinition) {
  const { uid, generation, labels, annotations } = metadata;
  return { uid, generation, labels, annotations, spec };
}

export function setupStories(server: string, open: () => Promise<SetupFixture>, startMs: number): void {
  describe(`claims on ${server}`, { timeout: 120_000 }, () => {
    let fixture: SetupFixture;
    beforeAll(async () => void (fixture = await open()), startMs);
    afterAll(() => fixture?.stop(), 60_000);
    const install = (dryRun = false) => installClaimDefinition({ client: fixture.client, dryRun, signal });
    const there = () => fixture.client.get(definitions, at);
    /** Takes the kind away, and waits until it is. */
    const absent = async () => {
      await fixture.client.delete(definitions, at).catch((error: unknown) => {
        if (!isApiError(error, "not-found")) throw error;
      });
      await until(
        async () =>
          there().then(
            () => false,
            (error: unknown) => isApiError(error, "not-found"),
          ),
        {
          what: "the kind gone",
        },
      );
    };
    const served = () =>
      until(async () => (await fixture.client.list(ipamClaims, {}), true), { what: "the kind being served" });

    describe("the kind", () => {
      test("is made where there is none, and left alone the second time; a dry run writes nothing", async () => {
        await absent();
        expect(await install(true)).toEqual({ kind: "create" });
        await expect(there()).rejects.toMatchObject({ code: "not-found" });
        expect(await install()).toEqual({ kind: "create" });
        await served();
        const before = written(await there());
        expect((await install()).kind).toBe("keep");
        expect(written(await there())).toEqual(before);
        const spec = { network: "blue", interface: "" };
        const made = await fixture.client.create(ipamClaims, { metadata: { namespace: "default", name: "a" }, spec });
        const status = { ips: ["10.0.0.7/24"], ownerPod: { name: "p" } };
        const patch = { type: "merge", body: { spec: { network: "red" }, status } } as const;
        const told = await fixture.client.patch(ipamClaims, { namespace: "default", name: "a" }, patch, {
          subresource: "status",
        });
        // Whoever may write the status only, as a node's daemon, changes nothing else.
        expect([told.spec.network, told.status?.ips]).toEqual(["blue", ["10.0.0.7/24"]]);
        expect(made.metadata.uid).toBe(told.metadata.uid);
        await fixture.client.delete(ipamClaims, { namespace: "default", name: "a" });
      });

      test("a newer one that somebody else put there stays, and so do its fields", async () => {
        await absent();
        const newer = claimDefinition();
        newer.metadata = { name: at.name };
        const [version] = newer.spec.versions as { name: string; served?: boolean; storage?: boolean }[];
        newer.spec.versions = [
          { ...version!, storage: false },
          { ...version!, name: "v2" },
        ];
        await fixture.client.create(definitions, newer);
        await served();
        const before = await there();
        expect(await install()).toMatchObject({ kind: "keep" });
        const after = await there();
        expect(after.spec).toEqual(before.spec);
        expect(after.metadata.annotations?.[crdRevisionAnnotation]).toBeUndefined();
      });

      test("an earlier one of ours becomes the present one, with what others wrote on it; a later one stays", async () => {
        await absent();
        const earlier = claimDefinition();
        earlier.metadata = { name: at.name, annotations: { [crdRevisionAnnotation]: "0", team: "network" } };
        const [version] = earlier.spec.versions as unknown as { additionalPrinterColumns?: unknown[] }[];
        version!.additionalPrinterColumns = [];
        await fixture.client.create(definitions, earlier);
        await served();
        expect(await install(true)).toMatchObject({ kind: "replace" });
        expect(await install()).toMatchObject({ kind: "replace" });
        const { metadata, spec } = await there();
        expect(metadata.annotations).toMatchObject({ team: "network", [crdRevisionAnnotation]: "1" });
        expect(JSON.stringify(spec)).toContain("ownerPod.name");
        const body = { metadata: { annotations: { [crdRevisionAnnotation]: "99" } } };
        await fixture.client.patch(definitions, at, { type: "merge", body });
        expect(await install()).toMatchObject({ kind: "keep" });
        expect((await there()).metadata.annotations?.[crdRevisionAnnotation]).toBe("99");
      });

      test("several who install at once end with one", async () => {
        await absent();
        const steps = await Promise.all([install(), install(), install()]);
        expect(steps.filter(({ kind }) => kind === "create")).toHaveLength(1);
        await served();
      });
    });

    describe("letting go", () => {
      const lease = { namespace: "kube-system", name: "holdfast-controller" };
      const claim = (name: string, finalizers: string[]) =>
        fixture.client.create(ipamClaims, {
          metadata: { namespace: "default", name, finalizers, annotations: { "holdfast.io/claim-owner": "vm" } },
          spec: { network: "blue", interface: "" },
        });
      const finalizersOf = async () =>
        Object.fromEntries(
          (await fixture.client.list(ipamClaims, {})).items.map(({ metadata }) => [
            metadata.name,
            metadata.finalizers ?? [],
          ]),
        );
      const release = (more: { dryRun?: boolean; isConfirmed?: boolean } = {}) => {
        const said: string[] = [];
        const clock = new ManualClock();
        const done = releaseFinalizers({
          client: fixture.client,
          clock,
          systemNamespace: "kube-system",
          dryRun: false,
          isConfirmed: true,
          ...more,
          say: (line) => void said.push(line),
          signal,
        });
        return { said, clock, done };
      };
      /** Lets the time of the watch pass, a second at each look. */
      const passing = async <T>({ clock, done }: { clock: ManualClock; done: Promise<T> }): Promise<T> => {
        let isOver = false;
        const over = () => void (isOver = true);
        done.then(over, over);
        await until(async () => (await clock.advance(1000), isOver), { what: "the end of the watch", everyMs: 1 });
        return done;
      };

      test("says what will not be protected; then our finalizer falls, and claim, status and others' finalizers stay", async () => {
        await absent();
        await install();
        await served();
        const ours = await claim("vm1.a", [claimFinalizer]);
        await claim("vm2.a", ["kubevirt.io/persistent-ipam"]);
        await claim("vm3.a", ["example.com/backup", claimFinalizer]);
        await claim("vm4.a", [claimFinalizer]);
        const status = { ips: ["10.0.0.7/24"] };
        const patch = { type: "merge", body: { status } } as const;
        await fixture.client.patch(ipamClaims, { namespace: "default", name: "vm1.a" }, patch, {
          subresource: "status",
        });
        await fixture.client.delete(ipamClaims, { namespace: "default", name: "vm4.a" });

        const dry = release({ dryRun: true });
        expect(await dry.done).toBe(0);
        expect(dry.said).toEqual([
          "IPAMClaim default/vm1.a: 10.0.0.7/24",
          "IPAMClaim default/vm3.a: no address",
          "IPAMClaim default/vm4.a: no address, is being deleted",
          expect.stringContaining("3 claims lose the finalizer holdfast.io/persistent-ip"),
          "Being deleted, and gone at once: 1.",
        ]);
        await expect(release({ isConfirmed: false }).done).rejects.toMatchObject({ code: "not-confirmed" });
        expect(Object.keys(await finalizersOf())).toHaveLength(4);

        await fixture.client.create(leases, { metadata: lease, spec: { holderIdentity: "" } });
        expect(await release().done).toBe(3);
        expect(await finalizersOf()).toEqual({
          "vm1.a": [],
          "vm2.a": ["kubevirt.io/persistent-ipam"],
          "vm3.a": ["example.com/backup"],
        });
        const kept = await fixture.client.get(ipamClaims, { namespace: "default", name: "vm1.a" });
        expect([kept.metadata.uid, kept.status?.ips]).toEqual([ours.metadata.uid, ["10.0.0.7/24"]]);
        expect(kept.metadata.annotations).toEqual({ "holdfast.io/claim-owner": "vm" });
        expect(await release().done).toBe(0);
      });

      test("refuses while a controller leads; a lease that its holder left behind does not count", async () => {
        await claim("vm5.a", [claimFinalizer]);
        const renew = (renewTime: string) =>
          fixture.client.patch(leases, lease, { type: "merge", body: { spec: { holderIdentity: "c-1", renewTime } } });
        await renew("2026-01-01T00:00:00.000000Z");
        const refused = release();
        await until(async () => refused.said.some((line) => line.startsWith("Watching Lease")), { what: "the watch" });
        await renew("2026-01-01T00:00:02.000000Z");
        await expect(passing(refused)).rejects.toMatchObject({ code: "controller-leads" });
        expect((await finalizersOf())["vm5.a"]).toEqual([claimFinalizer]);
        expect(await passing(release())).toBe(1);
        expect((await finalizersOf())["vm5.a"]).toEqual([]);
      });
    });
  });
}
