// Launcher pods as values, for tests of decisions: a VM `t/vm1` whose pods are named by letters, one second apart.
import { readPodNetwork } from "../../src/cluster/pod-network.ts";
import type { Launcher } from "../../src/migration/objects/launcher.ts";
import { parsePrefix } from "../../src/net/prefix.ts";

export const entry = { ip_addresses: ["10.244.1.4/24"], mac_address: "0a:58:0a:f4:01:04" };
export const network = readPodNetwork(JSON.stringify({ default: entry }))!;
/** n1 has 10.244.1.0/24 and is the home of `network`. */
export const nodes = new Map(["n1", "n2", "n3"].map((node, at) => [node, [parsePrefix(`10.244.${at + 1}.0/24`)]]));

/** `letter`: its name, and its age: `a` is the oldest. Without more it runs and nobody has called it ready. */
export function launcher(letter: string, node: string, more: Partial<Launcher> = {}): Launcher {
  const at = letter.charCodeAt(0) - "a".charCodeAt(0);
  const createdMs = 1000 * at;
  return {
    namespace: "t",
    name: `virt-launcher-vm1-${letter}`,
    uid: `uid-${letter}`,
    vm: "vm1",
    isCut: false,
    instance: "vmi-1",
    node,
    phase: "running",
    createdMs,
    isDeleting: false,
    isTarget: at > 0,
    ready: undefined,
    readyMs: undefined,
    sign: undefined,
    network,
    sinceMs: createdMs,
    isRecorded: false,
    ...more,
  };
}
