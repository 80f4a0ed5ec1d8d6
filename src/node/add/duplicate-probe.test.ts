// The network is asked before an address is given, and the asking itself fails.
import { expect, it } from "vitest";

import { realClock } from "../../kube/clock.ts";
import { silent } from "../../log/log.ts";
import { parseAddress } from "../../net/address.ts";
import type { Intent } from "../release/intents.ts";
import type { Addition } from "./add.ts";
import { takeProbed } from "./duplicate-probe.ts";
import type { Share } from "./shares.ts";
import type { OpenSource, Taken } from "./take.ts";

const owner = { kind: "pod", uid: "u", namespace: "d", name: "p", interface: "eth0", containerId: "c" } as const;
const hold = { domain: "network:", address: parseAddress("10.0.0.1"), owner, version: "1" };
const share = { want: { kind: "any" }, owner } as unknown as Share;
const taken: Taken = { share, namespace: "ns", hold, isNew: true, early: false };

it.each([
  ["the ADD is called off while it is asked", new Error("called off"), () => Promise.reject(new Error("no answer"))],
  ["the address cannot be given back", undefined, () => Promise.resolve({ duplicate: true, mac: "02:00" })],
])("what was taken and cannot be given back stays promised on the disk: %s", async (_what, reason, probe) => {
  const caller = new AbortController();
  if (reason !== undefined) caller.abort(reason);
  const free = () => Promise.reject(new Error("the API server is away"));
  const promised: Intent[] = [];
  const source = { kept: () => Promise.resolve(taken), open: (): Promise<OpenSource> => expect.unreachable() };
  const addition = {
    parts: {
      sources: { sourceOf: () => source },
      probe,
      releases: { free },
      intents: { add: (intent: Intent) => Promise.resolve(void promised.push(intent)) },
      log: silent,
      tell: () => {},
      clock: realClock,
      wake: () => {},
    },
    loaded: { config: { name: "net", probe: true, cooldownMs: 0 } },
    asking: { lookFirst: false },
    invocation: { netns: "/n", containerId: "c", interfaceName: "eth0" },
    signal: caller.signal,
  } as unknown as Addition;
  await expect(takeProbed(addition, share)).rejects.toThrow(/called off|away/);
  const targets = [{ namespace: "ns", domain: hold.domain, owner }];
  expect(promised).toMatchObject([{ containerId: "c", interfaceName: "eth0", targets }]);
});
