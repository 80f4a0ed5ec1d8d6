// Informers on a server that restarts and forgets.
import { expect, test, vi } from "vitest";

import { Informer, type InformerEvent } from "../../../src/kube/cache/informer.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { KubeClient } from "../../../src/kube/rest.ts";
import { type ConfigMap, configMaps, map, namespaces, patient, type Fixture } from "./fixture.ts";

export function informerTests(fixture: Fixture): void {
  test("informer: through a restart of the API server it loses nothing and tells nothing twice", async () => {
    const namespace = await fixture.space();
    for (const each of ["a", "b", "c"]) await fixture.client.create(configMaps, map(namespace, each));
    await using informed = await follow(fixture.client, namespace);
    await fixture.client.update(configMaps, map(namespace, "a", "2"));
    await vi.waitFor(() => expect(informed.story).toContain("update a 1 -> 2"), patient);
    await fixture.server.restart();
    await vi.waitFor(() => fixture.client.delete(configMaps, { namespace, name: "b" }).catch(ifGone), patient);
    await fixture.client.create(configMaps, map(namespace, "d"));
    await vi.waitFor(() => expect(informed.state()).toEqual({ a: "2", c: "1", d: "1" }), patient);
    const adds = informed.story.filter((each) => each.startsWith("add"));
    expect(new Set(adds).size).toBe(adds.length);
    expect(informed.story).toContain("delete b");
  });

  test("informer: a version that the server has forgotten (410) leads to a new list", async () => {
    const namespace = await fixture.space();
    await fixture.client.create(configMaps, map(namespace, "a"));
    await (fixture.server.compact?.() ?? fixture.server.restart());
    await vi.waitFor(() => fixture.client.get(namespaces, { name: namespace }), patient);
    const gone = Array.fromAsync(
      fixture.client.watch(configMaps, { namespace, resourceVersion: "1", timeoutSeconds: 5 }),
    );
    await expect(gone).rejects.toMatchObject({ code: "gone" });
    // The same within an informer: its first watch is sent with the old version.
    let aged = false;
    const { transport } = fixture.connection;
    const ageing = new KubeClient({
      transport: (request) => {
        if (aged || !request.path.includes("watch=true")) return transport(request);
        aged = true;
        return transport({ ...request, path: request.path.replace(/resourceVersion=\d+/, "resourceVersion=1") });
      },
    });
    await using informed = await follow(ageing, namespace);
    await fixture.client.create(configMaps, map(namespace, "b"));
    await vi.waitFor(() => expect(informed.state()).toEqual({ a: "1", b: "1" }), patient);
    expect(informed.errors.some((error) => isApiError(error, "gone"))).toBe(true);
    expect(informed.story.filter((each) => each === "add a")).toHaveLength(1);
  });
}

/** A delete whose answer was lost has happened when it is asked again. */
function ifGone(error: unknown): undefined {
  if (!isApiError(error, "not-found")) throw error;
}

async function follow(client: KubeClient, namespace: string) {
  const story: string[] = [];
  const errors: Error[] = [];
  const informer = new Informer<ConfigMap>({
    client,
    resource: configMaps,
    scope: { namespace },
    onError: (error) => errors.push(error),
  });
  informer.handle((event) => story.push(told(event)));
  const stop = new AbortController();
  const run = informer.run(stop.signal);
  await informer.synced(AbortSignal.timeout(60_000));
  return {
    story,
    errors,
    /** Name -> value; the server's own ConfigMaps aside. */
    state: () =>
      Object.fromEntries(
        [...informer.cache.list()]
          .filter(({ metadata }) => metadata.name !== "kube-root-ca.crt")
          .map(({ metadata, data }) => [metadata.name, data?.["value"]]),
      ),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await run;
    },
  };
}

function told(event: InformerEvent<ConfigMap>): string {
  const { name } = event.object.metadata;
  if (event.type !== "update") return `${event.type} ${name}`;
  return `update ${name} ${event.previous.data?.["value"]} -> ${event.object.data?.["value"]}`;
}
