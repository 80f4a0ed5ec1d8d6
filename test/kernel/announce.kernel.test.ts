// What a node says of a VM that has moved, heard by a real kernel: its neighbour table has the new MAC.
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import { Wire } from "./wire.ts";

const program = join(import.meta.dirname, "say-process.ts");
const proxy = "0a:58:a9:fe:01:01";
const old = "02:00:00:00:00:04";

let wire: Wire;
beforeAll(async () => {
  wire = await Wire.of([{ name: "node" }, { name: "pod", addresses: ["10.7.0.9/24", "fd07::9/64"] }]);
});
afterAll(() => wire?.remove());

const say = (...words: readonly string[]) =>
  run(["nsenter", `--net=${wire.netns("node")}`, "env", "-u", "NODE_OPTIONS", process.execPath, program, ...words]);

describe("the management port", () => {
  it.each(["10.7.0.4", "fd07::4"])("says that %s has moved, and the neighbour believes it", async (address) => {
    await wire.ip("pod", "neigh", "add", address, "lladdr", old, "dev", "eth0", "nud", "stale");
    const known = async () => (await wire.ip("pod", "neigh", "show", address)).trim();
    expect(await known()).toContain(old);
    const heard = async () => {
      // Said again, as a daemon does: a kernel keeps a fresh entry for a second.
      await say("eth0", address, proxy);
      return (await known()).includes(proxy);
    };
    await until(heard, { what: `the neighbour to know ${address} at ${proxy}` });
  });

  it("of an interface that is not there says so", async () => {
    await expect(say("eth7", "10.7.0.4", proxy)).rejects.toThrow("no interface eth7");
  });
});
