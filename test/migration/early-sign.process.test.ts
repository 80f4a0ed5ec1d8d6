// A guest is seen at its target before KubeVirt has said so: the daemon tells it on the pod, and the leader moves the
// rows by that. KubeVirt played on the embedded API, Open vSwitch's real database; the wire is the test's.
import { afterAll, beforeAll, expect, it } from "vitest";

import { realClock } from "../../src/kube/clock.ts";
import { silent } from "../../src/log/log.ts";
import { nodeSide } from "../../src/migration/node-side/side.ts";
import { until } from "../lab/wait.ts";
import { VirtualSwitchDatabase } from "../ovn/virtual-switch-database.ts";
import { Fixture } from "./fixture.ts";

let f: Fixture;
let database: VirtualSwitchDatabase;
/** `LINK MAC` -> what tells that its guest was announced. */
const awaited = new Map<string, () => void>();
const stopping = new AbortController();
let ended: Promise<unknown>;
beforeAll(async () => {
  [f, database] = await Promise.all([Fixture.open(), VirtualSwitchDatabase.start()]);
  ended = nodeSide({
    client: f.client,
    clock: realClock,
    log: silent,
    systemNamespace: "kube-system",
    node: "n2",
    switchEndpoints: database.unix,
    say: () => {},
    watch: (link, mac, signal) =>
      new Promise((resolve) => {
        const key = `${link} ${mac}`;
        const end = (isSeen: boolean) => {
          awaited.delete(key);
          resolve(isSeen);
        };
        awaited.set(key, () => end(true));
        signal.addEventListener("abort", () => end(false), { once: true });
      }),
  }).run(stopping.signal, () => {});
});
afterAll(async () => {
  stopping.abort();
  await ended;
  await f?.close();
  await database?.[Symbol.asyncDispose]();
});

it("is told on the target's pod, and the rows follow", async () => {
  const { leader } = await f.lead();
  const vm = await f.started("vm1");
  const migration = await f.begun(vm, "n2");
  const { at } = migration.target;
  await f.shows("vm1", "n1 of n1: n1* n2");
  expect(awaited.size).toBe(0);
  await database.plug("veth1", `${at.namespace}_${at.name}`);
  const arrive = await until(async () => awaited.get("veth1 0a:58:0a:f4:01:04"), { what: "the daemon to listen" });
  arrive();
  await f.shows("vm1", "n2 of n1: n1 n2*");
  expect((await f.annotationsOf(migration.target))["holdfast.io/guest-seen"]).toMatch(/^\d{4}-.*Z rarp$/);
  await migration.succeed();
  await f.shows("vm1", "n2 of n1: n2*");
  const over = () => leader.receipts().find(({ end }) => end !== undefined);
  const receipt = await until(async () => over(), { what: "the receipt" });
  expect(receipt.steps.find(({ step }) => step === "switched")).toMatchObject({ trigger: "early-sign" });
});

it("is listened for no more when the migration has failed", async () => {
  const vm = await f.started("vm2");
  const migration = await f.begun(vm, "n2");
  const { at } = migration.target;
  await database.plug("veth2", `${at.namespace}_${at.name}`);
  await until(async () => awaited.size === 1, { what: "the daemon to listen" });
  await migration.fail("exits");
  await until(async () => awaited.size === 0, { what: "the daemon to listen no more" });
});
