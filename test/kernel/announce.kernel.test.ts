// What a node says of a VM that has moved, heard by a real kernel: its neighbour table has the new MAC. And what it
// hears of a guest that goes on.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import { Wire } from "./wire.ts";

const speaker = fileURLToPath(new URL("./say-process.ts", import.meta.url));
const watcher = fileURLToPath(new URL("./rarp-process.ts", import.meta.url));
const proxy = "0a:58:a9:fe:01:01";
const old = "02:00:00:00:00:04";
const guest = "0a:58:0a:07:00:04";
const other = "0a:58:0a:07:00:05";

let wire: Wire;
beforeAll(async () => {
  wire = await Wire.of([{ name: "node" }, { name: "pod", addresses: ["10.7.0.9/24", "fd07::9/64"] }]);
});
afterAll(() => wire?.remove());

const say = (...words: readonly string[]) =>
  run(["nsenter", `--net=${wire.netns("node")}`, "env", "-u", "NODE_OPTIONS", process.execPath, speaker, ...words]);

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

describe("a guest that goes on at its target", () => {
  it("is seen by its RARP, and by no other frame: the pod's own kernel sends those before the guest is there", async () => {
    const argv = ["env", "-u", "NODE_OPTIONS", process.execPath, watcher];
    const listener = spawn("nsenter", [`--net=${wire.netns("pod")}`, ...argv, "eth0", guest]);
    let said = "";
    listener.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const ended = once(listener, "exit");
    try {
      await until(async () => said.includes("listening"), { what: "the daemon's side to listen" });
      // Any frame but that one, from the guest's MAC: an announcement of its address by ARP.
      await wire.ip("node", "link", "set", "eth0", "address", guest);
      await say("eth0", "10.7.0.4", guest);
      await say("eth0", "10.7.0.9", other, "rarp");
      expect(said).not.toContain("seen");
      const seen = async () => {
        await say("eth0", "10.7.0.9", guest, "rarp");
        return said.includes("seen");
      };
      await until(seen, { what: "the guest to be seen" });
    } finally {
      listener.kill("SIGKILL");
      await ended;
    }
  });
});
