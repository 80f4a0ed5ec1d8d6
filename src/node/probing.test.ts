// Asking the network before an address is given, when that itself fails.
import { expect, it } from "vitest";

import { silent } from "../log/log.ts";
import { parseAddress } from "../net/address.ts";
import type { Addition } from "./add.ts";
import type { Share } from "./plan.ts";
import { takeProbed } from "./probing.ts";
import type { Taken } from "./take.ts";

const owner = { kind: "pod", uid: "u", namespace: "d", name: "p", interface: "eth0", containerId: "c" } as const;
const hold = { domain: "network:", address: parseAddress("10.0.0.1"), owner, version: "1" };
const share = { want: { kind: "any" } } as unknown as Share;
const taken: Taken = { share, namespace: "ns", hold, isNew: true, early: false };

it.each([
  ["the ADD is called off while it is asked", new Error("called off"), () => Promise.reject(new Error("no answer"))],
  ["the address cannot be given back", undefined, () => Promise.resolve({ duplicate: true, mac: "02:00" })],
])("what was taken is known to who gives back: %s", async (_what, reason, probe) => {
  const caller = new AbortController();
  if (reason !== undefined) caller.abort(reason);
  const free = () => Promise.reject(new Error("the API server is away"));
  const addition = {
    parts: { taker: { take: () => Promise.resolve(taken) }, probe, releases: { free }, log: silent, tell: () => {} },
    loaded: { config: { name: "net", probe: true } },
    asking: { lookFirst: false },
    invocation: { netns: "/n", interfaceName: "eth0" },
    signal: caller.signal,
    taken: [],
    unknown: [],
  } as unknown as Addition;
  await expect(takeProbed(addition, share)).rejects.toThrow(/called off|away/);
  expect(addition.taken).toEqual([taken]);
});
