import { afterEach, beforeEach, expect, it } from "vitest";

import { massReleaseAnnotation } from "../../api/claims/claim-marks.ts";
import { type Api, openApi } from "../../apiserver/api.ts";
import { namespaces } from "../../cluster/resources.ts";
import { realClock } from "../../kube/clock.ts";
import { KubeClient } from "../../kube/rest.ts";
import { ClaimCaches } from "./caches.ts";

let api: Api;
let client: KubeClient;
let caches: ClaimCaches;
let stop: AbortController;
let running: Promise<void>;
beforeEach(() => {
  api = openApi({ path: ":memory:" });
  client = new KubeClient({ transport: api.transport });
  caches = new ClaimCaches({ client, clock: realClock, onError: () => {} });
  follow();
});
afterEach(async () => {
  await blind();
  api.close();
});

function follow(): void {
  stop = new AbortController();
  running = caches.namespaces.run(stop.signal);
}
async function blind(): Promise<void> {
  stop.abort();
  await running;
}

const create = (name: string, annotations: Readonly<Record<string, string>> = {}) =>
  client.create(namespaces, { metadata: { name, annotations } });
const allowed = async (name: string, count: number) => {
  await expect.poll(() => caches.massReleaseOf(name)).toBe(count);
};
const listed = async (name: string) => {
  await expect.poll(() => caches.namespaces.cache.get(name)).toBeDefined();
};
const gone = async (name: string) => {
  await expect.poll(() => caches.namespaces.cache.get(name)).toBeUndefined();
};

it("a namespace frees as many at once as its annotation says, and one that was never seen none", async () => {
  await create("shop", { [massReleaseAnnotation]: "7" });
  await allowed("shop", 7);
  expect(caches.massReleaseOf("bank"), "it may be restored after what is held for it").toBeUndefined();
});

it("one that is seen being deleted frees all of it, until it is there again", async () => {
  await create("shop");
  await listed("shop");
  await client.delete(namespaces, { name: "shop" });
  await allowed("shop", Number.POSITIVE_INFINITY);
  await gone("shop");
  expect(caches.massReleaseOf("shop")).toBe(Number.POSITIVE_INFINITY);
  await create("shop");
  await allowed("shop", 0);
});

it("one that a later list lacks frees none: the server may have an older copy", async () => {
  await create("shop");
  await listed("shop");
  await blind();
  await client.delete(namespaces, { name: "shop" });
  await expect.poll(() => client.lookUp(namespaces, { name: "shop" })).toBeUndefined();
  follow();
  await gone("shop");
  expect(caches.massReleaseOf("shop")).toBeUndefined();
});
