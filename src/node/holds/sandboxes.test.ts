// The file of remembered sandboxes, on a real disk.
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { makeLog } from "../../log/log.ts";
import { type Sandbox, Sandboxes } from "./sandboxes.ts";

let folder: string;
let lines: string[];
/** path -> what is behind it */
let namespaces: Map<string, string>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-sandboxes-"));
  [lines, namespaces] = [[], new Map([["/run/netns/x", "4:1"]])];
});
afterEach(() => rm(folder, { recursive: true }));

const sandbox = (containerId: string, interfaceName = "net1", netns = "/run/netns/x", uid = containerId): Sandbox => ({
  containerId,
  interfaceName,
  netns,
  pod: { namespace: "shop", name: `web-${containerId}`, uid },
  holds: [
    {
      namespace: "kube-system",
      domain: "network:",
      address: "10.0.0.7",
      owner: { kind: "pod", uid, namespace: "shop", name: `web-${containerId}`, interface: interfaceName, containerId },
      note: { pool: "kube-system/10.0.0.0-24", why: "the lowest" },
    },
  ],
});
const open = (bootId = "one") =>
  Sandboxes.open({
    folder,
    bootId,
    identify: async (netns) => namespaces.get(netns),
    log: makeLog({ write: (line) => lines.push(line), now: () => 0 }),
  });
const names = (sandboxes: Sandboxes) => sandboxes.all().map((each) => `${each.containerId} ${each.interfaceName}`);
async function reopened(bootId?: string): Promise<string[]> {
  const sandboxes = await open(bootId);
  await sandboxes.close();
  return names(sandboxes);
}

it("what was remembered is there after a start, what was forgotten is not", async () => {
  const before = await open();
  for (const each of ["a", "b", "c"]) await before.remember(sandbox(each));
  await before.remember(sandbox("a", "net2"));
  await before.forget({ containerId: "b", interfaceName: "net1" });
  await before.forget({ containerId: "never", interfaceName: "net1" });
  await before.close();
  const after = await open();
  expect(names(after)).toEqual(["a net1", "c net1", "a net2"]);
  expect(after.get({ containerId: "a", interfaceName: "net2" })).toEqual({ ...sandbox("a", "net2"), netnsId: "4:1" });
  await after.close();
});

it("a second ADD of the same sandbox replaces what is known, and is the latest", async () => {
  const sandboxes = await open();
  for (const each of ["a", "b", "a"]) await sandboxes.remember(sandbox(each));
  await sandboxes.close();
  expect(names(sandboxes)).toEqual(["b net1", "a net1"]);
});

it("a pod has one sandbox at a time: the next says that the one before is over, also one that has nothing of the API's", async () => {
  const sandboxes = await open();
  const of = (containerId: string, interfaceName = "net1") =>
    sandbox(containerId, interfaceName, "/run/netns/x", "pod");
  await sandboxes.remember(of("a"));
  await sandboxes.remember(of("a", "net2"));
  await sandboxes.remember(of("b"));
  expect(names(sandboxes)).toEqual(["a net2", "b net1"]);
  await sandboxes.remember({ ...of("c"), holds: [] });
  await sandboxes.close();
  expect([names(sandboxes), await reopened()]).toEqual([["a net2"], ["a net2"]]);
});

it("the versions that were seen outlast a reboot", async () => {
  const before = await open();
  await before.note({ Pod: 7 });
  await before.close();
  const after = await open("two");
  expect(after.seen).toEqual({ Pod: 7 });
  await after.close();
});

it("a reboot ended every sandbox, also where the file was not written since", async () => {
  const before = await open();
  await before.remember(sandbox("a"));
  await before.close();
  expect(await reopened("two")).toEqual([]);
  // Not even if an older boot had the name.
  expect(await reopened("one")).toEqual([]);
});

it("a torn line and a damaged one cost themselves", async () => {
  const before = await open();
  for (const each of ["a", "b"]) await before.remember(sandbox(each));
  await before.close();
  const path = join(folder, "sandboxes.log");
  await writeFile(path, (await readFile(path, "utf8")).replace('"a"', '"z"'));
  await appendFile(path, '12345678 {"op":"add","sandb');
  expect(await reopened()).toEqual(["b net1"]);
  expect(lines.join("\n")).toContain("damaged");
});

it("the file does not grow for ever", async () => {
  const sandboxes = await open();
  await sandboxes.remember(sandbox("stays"));
  const churn = async (i: number) => {
    await sandboxes.remember(sandbox(`c${i}`));
    await sandboxes.forget(sandbox(`c${i}`));
  };
  for (let i = 0; i < 1200; i++) await churn(i);
  // Written anew in the background.
  const length = async () => (await readFile(join(folder, "sandboxes.log"), "utf8")).split("\n").length;
  await expect.poll(async () => (await churn(0), length())).toBeLessThan(2000);
  await sandboxes.close();
  expect(await reopened()).toEqual(["stays net1"]);
});

it("its namespace tells whether a sandbox is there; one that could not be seen tells nothing", async () => {
  const sandboxes = await open();
  await sandboxes.remember(sandbox("a"));
  await sandboxes.remember(sandbox("b", "net1", "/proc/1/ns/hidden"));
  const [a, b] = sandboxes.all();
  expect([await sandboxes.isThere(a!), await sandboxes.isThere(b!)]).toEqual([true, undefined]);
  namespaces.set("/run/netns/x", "4:2"); // the path has another sandbox behind it
  expect(await sandboxes.isThere(a!)).toBe(false);
  await sandboxes.close();
});

it("a disk that fails is said, and fails nobody", async () => {
  const sandboxes = await open();
  await sandboxes.close();
  await sandboxes.remember(sandbox("a"));
  await sandboxes.forget(sandbox("a"));
  expect(lines.join("\n")).toContain("could not be remembered");
});

it("a hold that was moved is remembered where it is; not that of a sandbox that has ended meanwhile", async () => {
  const before = await open();
  await before.remember(sandbox("a"));
  const [known] = before.all();
  const holds = known!.holds.map((hold) => ({ ...hold, domain: "network:blue" as const }));
  expect(await before.move(known!, holds)).toBe(before.get(known!));
  expect(await before.move(known!, []), "as it was").toBeUndefined();
  await before.close();
  const after = await open();
  expect(after.all()).toEqual([{ ...sandbox("a"), netnsId: "4:1", holds }]);
  await after.forget(known!);
  expect(await after.move(known!, holds)).toBeUndefined();
  await after.close();
  expect(await reopened()).toEqual([]);
});
