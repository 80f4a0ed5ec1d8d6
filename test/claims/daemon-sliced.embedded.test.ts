// Claims on a network that is cut into slices of nodes: their addresses are of no node, and follow them.
import { afterAll, beforeAll, expect, it } from "vitest";

import { ipamClaimKind } from "../../src/api/claims/ipam-claim.ts";
import { definitionOf } from "../../src/api/definition.ts";
import { ipamClaims, pods } from "../../src/cluster/resources.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { contains, parseCidr } from "../../src/net/prefix.ts";
import { until } from "../lab/wait.ts";
import type { Server } from "../node/fixture.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, type Guest } from "../slices/fixture.ts";
import { prepare } from "../slices/wipe.ts";

const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

let server: Server;
let fixture: Fixture;
beforeAll(async () => {
  server = await embeddedServer();
  fixture = new Fixture(server);
  await prepare(fixture.admin);
  await fixture.admin.create(crds, definitionOf(ipamClaimKind) as unknown as AnyObject);
  await until(() => fixture.admin.list(ipamClaims).then(() => true), { what: "claims to be served" });
  for (const name of ["a", "b"]) await fixture.join(name);
  await fixture.ledAlone();
}, 120_000);
afterAll(async () => {
  await fixture.close();
  await server.stop();
});

/** A pod that names a claim. */
async function referring(node: string, claim: string): Promise<Guest> {
  const name = fixture.fresh("vm");
  const networks = JSON.stringify([{ name: "nad", "ipam-claim-reference": claim }]);
  const annotations = { "k8s.v1.cni.cncf.io/networks": networks };
  const spec = { nodeName: node, containers: [{ name: "c", image: "none" }] };
  const made = await fixture.admin.create(pods, { metadata: { namespace: "default", name, annotations }, spec });
  return { node, name, uid: made.metadata.uid!, sandbox: `${name}-0` };
}

const stake = (name: string) =>
  fixture.admin.create(ipamClaims, {
    metadata: { namespace: "default", name },
    spec: { network: name, interface: "" },
  });

it("a claim's address is of the part that belongs to no node, and the same on every node; other pods use slices", async () => {
  const ipam = { range: "10.75.0.0/26", node_slice_size: "/29", floating_slice_size: "/28", allowPersistentIPs: true };
  const net = await fixture.define("floats", { ...ipam, network_name: "floats" });
  await stake("floats");
  const here = await referring("a", "floats");
  const first = await fixture.add(here, net);
  const { address, prefix } = parseCidr(first[0]!);
  expect(String(prefix)).toBe("10.75.0.0/26");
  expect(contains(parseCidr("10.75.0.48/28").prefix, address)).toBe(true);
  const plain = await fixture.add(await fixture.pod("a"), net);
  expect(contains(parseCidr("10.75.0.48/28").prefix, parseCidr(plain[0]!).address)).toBe(false);
  await fixture.del(here, net);
  await fixture.endPod(here);
  expect(await fixture.add(await referring("b", "floats"), net)).toEqual(first);
}, 120_000);

it("without such a part the pod is told what is missing, with claims by name", async () => {
  const ipam = { range: "10.76.0.0/26", node_slice_size: "/29", network_name: "bound", allowPersistentIPs: true };
  const net = await fixture.define("bound", ipam);
  await stake("bound");
  await fixture.add(await fixture.pod("a"), net);
  const { json } = await fixture.ask("ADD", await referring("a", "bound"), net);
  expect(json).toMatchObject({ code: 7, msg: expect.stringMatching(/IPAMClaim.*floating_slice_size/) as string });
}, 120_000);
