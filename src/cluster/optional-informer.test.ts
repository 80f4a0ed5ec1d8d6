import { afterEach, describe, expect, it } from "vitest";

import { networkAttachmentDefinitionCrd } from "../api/network-attachment-definition.ts";
import { type Api, openApi } from "../apiserver/api.ts";
import { realClock } from "../kube/clock.ts";
import { defineResource } from "../kube/resource.ts";
import { KubeClient } from "../kube/rest.ts";
import { ManualClock } from "../kube/testing/manual-clock.ts";
import type { Transport } from "../kube/transport/transport.ts";
import { DefinitionInformer } from "./definition-informer.ts";
import { OptionalInformer } from "./optional-informer.ts";
import { networkAttachmentDefinitions, virtualMachines } from "./resources.ts";

const crds = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

let api: Api | undefined;
let stop = new AbortController();
let running: Promise<unknown> = Promise.resolve();
afterEach(async () => {
  stop.abort();
  await running;
  api?.close();
});

/** Requests of the follower that are no watches, and what it reported. */
function world() {
  const server = openApi({ path: ":memory:" });
  api = server;
  stop = new AbortController();
  const asked: string[] = [];
  const errors: string[] = [];
  const client = new KubeClient({
    transport: (request) => {
      if (!request.path.includes("watch=true")) asked.push(request.path);
      return server.transport(request);
    },
  });
  const onError = (error: Error) => void errors.push(error.message);
  const options = { client, clock: realClock, onError, retryMs: 5 };
  const admin = new KubeClient({ transport: server.transport });
  const install = () => admin.create(crds, structuredClone(networkAttachmentDefinitionCrd));
  const define = (name: string) =>
    admin.create(networkAttachmentDefinitions, { metadata: { namespace: "default", name }, spec: { config: "{}" } });
  return { asked, errors, options, install, define };
}

function follow(followed: { follow: DefinitionInformer["follow"] }): void {
  running = followed.follow.run(stop.signal, () => {});
}

const namesIn = (followed: DefinitionInformer) => followed.list()?.map(({ metadata }) => metadata.name);

describe("a kind that the cluster may not have yet", () => {
  it("is not listed before it is there, where nobody may list it until then", async () => {
    const { asked, options, install, define } = world();
    const definitions = new OptionalInformer({ ...options, resource: networkAttachmentDefinitions, asksFirst: true });
    follow(definitions);
    await definitions.known(stop.signal);
    expect(definitions).toMatchObject({ isKnown: true, isListed: false });
    expect(new Set(asked)).toEqual(new Set(["/apis/k8s.cni.cncf.io/v1"]));
    await install();
    await define("red");
    await definitions.listed(stop.signal);
    expect(definitions.list()?.map(({ metadata }) => metadata.name)).toEqual(["red"]);
  });

  it("is listed at once where it is there: nothing is asked before", async () => {
    const { asked, options, install, define } = world();
    await install();
    await define("blue");
    const followed = new DefinitionInformer(options);
    expect(followed.isKnown).toBe(false);
    expect(followed.list()).toBeUndefined();
    follow(followed);
    await followed.known(stop.signal);
    expect(namesIn(followed)).toEqual(["blue"]);
    expect(asked).toHaveLength(1);
  });

  it("reads as no objects where it is not, and is followed as soon as it is", async () => {
    const { errors, options, install, define } = world();
    const followed = new DefinitionInformer(options);
    follow(followed);
    await followed.known(stop.signal);
    expect([followed.isKnown, followed.isListed, namesIn(followed)]).toEqual([true, false, []]);
    await install();
    await define("blue");
    await followed.listed(stop.signal);
    expect(namesIn(followed)).toEqual(["blue"]);
    const came = Promise.withResolvers<string>();
    followed.handle(({ object }) => object.metadata.name === "red" && came.resolve("red"));
    await define("red");
    expect(await came.promise).toBe("red");
    expect(errors).toEqual([]);
  });

  it("is not known while it cannot be listed, and that is told", async () => {
    const { errors, options } = world();
    const refusing = new KubeClient({ transport: () => Promise.reject(new Error("no route")), timeoutMs: 50 });
    const followed = new OptionalInformer({ ...options, client: refusing, resource: virtualMachines });
    follow(followed);
    while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect([followed.isKnown, followed.list()]).toEqual([false, undefined]);
  });

  it("is asked for again at random times, after what the server asks for, and an overload does not make it known", async () => {
    const clock = new ManualClock();
    const askedMs: number[] = [];
    const told: string[] = [];
    const answers = [404, 404, 429, 404];
    const transport: Transport = async () => {
      askedMs.push(clock.monotonicMs());
      const status = answers.shift() ?? 404;
      const body = JSON.stringify({ kind: "Status", code: status });
      const headers: Record<string, string> = status === 429 ? { "retry-after": "60" } : {};
      return { status, headers, body: new Response(body).body! as never };
    };
    const client = new KubeClient({ transport });
    const followed = new OptionalInformer({
      client,
      clock,
      onError: ({ message }) => void told.push(message),
      resource: virtualMachines,
      random: () => 0.5,
      retryMs: 30_000,
    });
    stop = new AbortController();
    follow(followed);
    await followed.known(stop.signal);
    expect(followed.list()).toEqual([]);
    const known: boolean[] = [];
    for (let second = 0; second < 300; second++) {
      await clock.advance(1000);
      if (second % 45 === 10) known.push(followed.isKnown);
    }
    expect(known, "it may have been installed meanwhile").toEqual([true, false, false, true, true, true, true]);
    expect(told, "the overload").toEqual([expect.stringContaining("429")]);
    expect(askedMs.map((ms) => (ms - askedMs[0]!) / 1000)).toEqual([0, 0, 45, 135, 180, 225, 270]);
    expect([followed.isKnown, followed.list()]).toEqual([true, []]);
  });
});
