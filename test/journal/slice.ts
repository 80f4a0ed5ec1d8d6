// A slice and its owners, for tests and for the processes that they start.
import type { Owner } from "../../src/ipam/owner.ts";
import type { JournalGrant } from "../../src/ledger/journal/grant.ts";
import { parsePrefix } from "../../src/net/prefix.ts";

export const domain = "slice:kube-system/net";

export function grantOf(text: string, more: Partial<JournalGrant> = {}): JournalGrant {
  const slice = parsePrefix(text);
  const key = `kube-system/net-${text.replace("/", "-")}-node`;
  const place = { key, domain, namespace: "kube-system", network: "net", range: parsePrefix("10.0.0.0/16"), slice };
  const state = {
    generation: 1,
    serial: 1,
    phase: "active",
    without: [],
    taken: [],
    sealed: false,
    moved: [],
  } as const;
  return { ...place, ...state, ...more };
}

export function pod(name: string, containerId = `c-${name}`): Owner {
  return { kind: "pod", uid: `uid-${name}`, namespace: "default", name, interface: "net1", containerId };
}
