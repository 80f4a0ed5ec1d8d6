// Which pod an ADD is for.
import { expect, it } from "vitest";

import type { Cache } from "../../kube/cache/store.ts";
import type { KubeObject } from "../../kube/meta.ts";
import { playedClient } from "../../kube/testing/played-client.ts";
import { podFinder } from "./pods.ts";

const signal = new AbortController().signal;
const made = (uid: string): KubeObject => ({ metadata: { namespace: "d", name: "web-0", uid } });

/** The informer is behind: the pod was made anew under its name. */
function source() {
  const client = playedClient({ get: () => Promise.resolve(made("new")) });
  const cache = { get: () => made("old") } as unknown as Cache<KubeObject>;
  return podFinder(client, cache);
}

it.each([
  ["of a runtime that names the UID, old", "old", "old"],
  ["of a runtime that names the UID, new", "new", "new"],
  // Under the UID of the pod before, the hold would be collected as that one's.
  ["of a runtime that names none", "", "new"],
])("the pod %s", async (_what, uid, found) => {
  expect((await source()({ namespace: "d", name: "web-0", uid }, signal))?.uid).toBe(found);
});
