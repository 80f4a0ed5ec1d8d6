import { describe, expect, it } from "vitest";

import type { Pod } from "../../../cluster/resources.ts";
import { ApiError } from "../../../kube/errors.ts";
import { playedClient } from "../../../kube/testing/played-client.ts";
import { hasRoom, type LiveUser, userReader } from "./users.ts";

const { signal } = new AbortController();
const user = (uid: string, name = uid) => ({ uid, name, node: "n" });
const live = (vmiUid?: string): LiveUser => ({ user: user("u"), vmiUid });

describe("room at an address", () => {
  it.each([
    ["nobody there", "owner/blue", "vmi", [], true],
    ["the source of a migration", "owner/blue", "vmi", [live("vmi")], true],
    ["the pod of the VMI before, of one VM", "owner/blue", "vmi-2", [live("vmi")], true],
    ["two already", "owner/blue", "vmi", [live("vmi"), live("vmi")], false],
    ["one that cannot be asked for, and another", "owner/blue", "vmi", [live(), live("vmi")], false],
    ["no owner, nobody there", undefined, undefined, [], true],
    ["no owner, another pod", undefined, undefined, [live()], false],
    ["no owner, a launcher of the same VMI", undefined, "vmi", [live("vmi")], true],
    ["no owner, a launcher of another VMI", undefined, "vmi", [live("other")], false],
    ["no owner, two of the same VMI", undefined, "vmi", [live("vmi"), live("vmi")], false],
  ])("%s", (_, identity, vmiUid, others, expected) => {
    expect(hasRoom({ identity, vmiUid }, others)).toBe(expected);
  });
});

describe("who lives", () => {
  const pods: Record<string, Pod> = {
    running: {
      metadata: { uid: "running", labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "vmi" } },
    },
    over: { metadata: { uid: "over" }, status: { phase: "Succeeded" } },
    failed: { metadata: { uid: "failed" }, status: { phase: "Failed" } },
    renamed: { metadata: { uid: "of-a-later-life" } },
  };
  let reads: string[] = [];
  const client = playedClient({
    get: async (_: unknown, { name }: { name: string }) => {
      reads.push(name);
      if (name === "away") throw new ApiError("unreachable", "nobody answers");
      const pod = pods[name];
      if (pod === undefined) throw new ApiError("not-found", "no such pod");
      return pod;
    },
  });

  it("is asked of the server: not those that are gone, ended, or of an earlier life; those that nobody can ask for count", async () => {
    const users = [
      ...["running", "over", "failed", "gone"].map((each) => user(each)),
      user("before", "renamed"),
      user("", ""),
    ];
    const found = await userReader(client)("ns")(users, signal);
    expect(found.map((each) => [each.user.uid, each.vmiUid])).toEqual([
      ["running", "vmi"],
      ["", undefined],
    ]);
  });

  it("once for each pod of one ADD, however many holds it is on", async () => {
    reads = [];
    const read = userReader(client)("ns");
    await read([user("running")], signal);
    await read([user("running"), user("over")], signal);
    expect(reads).toEqual(["running", "over"]);
  });

  it("is not known while the server does not answer: nobody is let in then", async () => {
    await expect(userReader(client)("ns")([user("away")], signal)).rejects.toMatchObject({
      code: "unreachable",
    });
  });

  it("a likely one is read before anybody lists it, and once", async () => {
    reads = [];
    const read = userReader(client)("ns", { name: "running", signal });
    expect(reads).toEqual(["running"]);
    expect(await read([user("running"), user("over")], signal)).toHaveLength(1);
    expect(reads).toEqual(["running", "over"]);
  });

  it.each([
    ["was not found", async () => Promise.reject(new ApiError("not-found", "no such pod"))],
    ["was of an earlier life", async () => ({ metadata: { uid: "before" }, status: { phase: "Succeeded" } })],
    ["could not be read", async () => Promise.reject(new ApiError("unreachable", "nobody answers"))],
  ])("a likely one that %s is read again when it is listed: it may have come since", async (_, first) => {
    const answers = [first, async () => ({ metadata: { uid: "now" } })];
    const server = playedClient({ get: async () => answers.shift()!() });
    const read = userReader(server)("ns", { name: "web", signal });
    expect(await read([user("now", "web")], signal)).toHaveLength(1);
    expect(answers).toEqual([]);
  });

  it("counts all where there are too many to ask for", async () => {
    reads = [];
    const many = Array.from({ length: 201 }, (_, index) => user(`u${index}`));
    expect(await userReader(client)("ns")(many, signal)).toHaveLength(201);
    expect(reads).toEqual([]);
  });
});
