// Which holds are taken for lost.
import { expect, it } from "vitest";

import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import { type Hold, type HoldNote, LedgerError } from "../../ipam/ledger.ts";
import { silent } from "../../log/log.ts";
import { parseAddress } from "../../net/address.ts";
import { HoldIndex } from "./hold-index.ts";
import { Reassert } from "./reassert.ts";
import type { KnownSandbox } from "./sandboxes.ts";

const owner = { kind: "pod", uid: "u", namespace: "d", name: "p", interface: "net1", containerId: "c" } as const;
const place = { namespace: "kube-system", domain: "network:", address: "10.0.0.1" } as const;
const sandbox = {
  containerId: "c",
  interfaceName: "net1",
  netns: "/n",
  netnsId: "1",
  pod: { namespace: "d", name: "p", uid: "u" },
  holds: [{ ...place, owner }],
} satisfies KnownSandbox;

interface Given {
  readonly moved?: string[];
  /** A restored server's word on the pod. */
  readonly pod?: "alive" | "gone";
  readonly afterRestore?: boolean;
  /** Of what is renewed. */
  readonly refusal?: Error;
}

/** The places that are made again where the server has these, and what is vouched for. */
async function made(listed: readonly RecordedHold[], given: Given = {}): Promise<string[]> {
  const { moved = [], pod = "alive", afterRestore = false } = given;
  const taken: string[] = [];
  const take = async ({ domain, address, note }: { domain: string; address: unknown; note?: HoldNote }) => {
    taken.push(`${domain} ${String(address)}${note?.vouched === undefined ? "" : ` vouched ${note.vouched}`}`);
    return { outcome: "taken", hold: { domain, address, owner, version: "o/9" } };
  };
  const amend = async ({ address, note }: { address: unknown; note?: HoldNote }) => {
    if (given.refusal !== undefined) throw given.refusal;
    taken.push(`${String(address)} vouched ${note?.vouched}`);
    return { outcome: "gone" };
  };
  const reassert = new Reassert({
    client: undefined as never,
    node: "n",
    facts: { hold: async () => undefined, pod: async () => pod },
    isClaimGone: async () => false,
    ledgers: { shared: () => ({ take, amend }) } as never,
    held: new HoldIndex(),
    sandboxes: {
      all: () => [sandbox],
      get: () => sandbox,
      forget: async () => {},
      move: async (known, holds) => {
        moved.push(...holds.map((hold) => `${hold.namespace} ${hold.domain} ${hold.address}`));
        return { ...known, holds };
      },
      isThere: async () => true,
    },
    intents: { get: () => undefined },
    poolResolver: { find: () => undefined },
    inSlice: async () => undefined,
    cooldownMs: 0,
    vouchMs: () => 900_000,
    now: () => 0,
    tell: () => {},
    onMade: () => {},
    log: silent,
  });
  await reassert.round({ listed, afterRestore, signal: new AbortController().signal });
  return taken;
}

type Place = Omit<typeof place, "namespace" | "domain"> & {
  readonly namespace: string;
  readonly domain: Hold["domain"];
};
const listedAt = ({ namespace, domain, address }: Place, who: Hold["owner"], note?: HoldNote): RecordedHold[] => [
  { namespace, hold: { domain, address: parseAddress(address), owner: who, version: "o/7", ...(note && { note }) } },
];

it("a hold that a migration moved to another place is not lost, and is not made again where it was", async () => {
  expect(await made([])).toEqual(["network: 10.0.0.1"]);
  expect(await made(listedAt(place, owner))).toEqual([]);
  const moved: string[] = [];
  expect(await made(listedAt({ ...place, namespace: "shop", domain: "network:blue" }, owner), { moved })).toEqual([]);
  expect(moved, "where it is made again if it is lost from there").toEqual(["shop network:blue 10.0.0.1"]);
  const both = [...listedAt({ ...place, domain: "network:blue" }, owner), ...listedAt(place, owner)];
  expect([await made(both, { moved }), moved.length]).toEqual([[], 1]);
  const other = { ...owner, uid: "v", name: "q", containerId: "e" };
  expect(await made(listedAt({ ...place, domain: "network:blue" }, other))).toEqual(["network: 10.0.0.1"]);
});

it("where a restored server has forgotten the pod, the daemon vouches for its sandbox, and does so again as long as it is there", async () => {
  const words = "vouched 900 1970-01-01T00:00:00.000Z";
  expect(await made([], { pod: "gone" })).toEqual([]);
  expect(await made([], { pod: "alive", afterRestore: true })).toEqual(["network: 10.0.0.1"]);
  expect(await made([], { pod: "gone", afterRestore: true })).toEqual([`network: 10.0.0.1 ${words}`]);
  const marked = listedAt(place, owner, { vouched: "900 earlier" });
  expect(await made(marked, { pod: "gone" })).toEqual([`10.0.0.1 ${words}`]);
});

it("a vouched hold that cannot be renewed keeps the daemon from nothing; a server that does not answer does", async () => {
  const marked = listedAt(place, owner, { vouched: "900 earlier" });
  const refusal = new LedgerError("unavailable", "It is being deleted and waits for example.com/audit.");
  expect(await made(marked, { pod: "gone", refusal })).toEqual([]);
  const unknown = new LedgerError("outcome-unknown", "It did not answer.");
  await expect(made(marked, { pod: "gone", refusal: unknown })).rejects.toThrow(unknown);
});
