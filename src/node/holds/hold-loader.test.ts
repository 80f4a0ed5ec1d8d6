// This node's holds, while other writers write and holds move.
import { expect, it } from "vitest";

import { realClock } from "../../kube/clock.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { HeldObject } from "../../ledger/reservation/list-holds.ts";
import { recordsOf } from "../../ledger/reservation/records.ts";
import { silent } from "../../log/log.ts";
import { parseAddress } from "../../net/address.ts";
import { HoldIndex } from "./hold-index.ts";
import { HoldLoader, type HoldLoaderOptions } from "./hold-loader.ts";

const domain = "network:";
const address = parseAddress("10.0.0.1");
const signal = new AbortController().signal;

function object(namespace: string): HeldObject {
  const owner = { kind: "pod", uid: "u", namespace: "d", name: "p", interface: "eth0", containerId: "c" } as const;
  const { metadata, ...rest } = recordsOf(domain, namespace).make({ address, owner }, "n");
  return { ...rest, metadata: { ...metadata, uid: "o", resourceVersion: "7" } };
}

const around = {
  facts: { hold: () => Promise.resolve(undefined) },
  sandboxes: { get: () => undefined },
  reassert: { round: () => Promise.resolve() },
  history: { expect: () => () => {} },
  clock: realClock,
  random: () => 0,
};

/** The test answers each list with what the server had at the question. */
function world(more: Partial<HoldLoaderOptions> = {}) {
  const held = new HoldIndex();
  const asked: ((items: readonly HeldObject[]) => void)[] = [];
  const list = (resource: { kind: string }) =>
    resource.kind === "Hold"
      ? Promise.resolve({ items: [] })
      : new Promise((resolve) => asked.push((items) => resolve({ items })));
  const client = { list } as unknown as KubeClient;
  const own = new HoldLoader({ client, node: "n", held, log: silent, ...around, ...more });
  const namespaces = () => held.ofAttachment({ containerId: "c", interfaceName: "eth0" }).map((each) => each.namespace);
  return { held, own, asked, namespaces };
}

it("a list that began before the holds were moved is not what counts", async () => {
  const { own, asked, namespaces } = world();
  const before = own.known(signal);
  own.forget();
  const after = own.known(signal);
  asked[0]!([object("old")]);
  await Promise.resolve();
  asked[1]?.([object("new")]);
  await Promise.all([before, after]);
  expect([own.isKnown, namespaces()]).toEqual([true, ["new"]]);
});

it("what the server lost is found out once, and then made again", async () => {
  const { held, own, asked } = world({ sandboxes: { get: () => ({}) as never } });
  const first = own.known(signal);
  asked[0]!([object("ns")]);
  await first;
  expect(await own.isLost(signal)).toBe(true);
  own.restored();
  expect([held.size, await own.isLost(signal)]).toEqual([1, false]);
});

it("nor does such a list make it known", async () => {
  const { own, asked } = world();
  void own.known(signal);
  own.forget();
  asked[0]!([object("old")]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(own.isKnown).toBe(false);
});

it("what was given back while the list was under way does not come back by it", async () => {
  const { held, own, asked, namespaces } = world();
  const first = own.known(signal);
  asked[0]!([object("ns")]);
  await first;
  own.forget();
  const second = own.known(signal);
  held.delete({ namespace: "ns", domain, address });
  asked[1]!([object("ns")]);
  await second;
  expect(namespaces()).toEqual([]);
});
