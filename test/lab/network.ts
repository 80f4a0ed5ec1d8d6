// The network of a cluster with nodes: a network namespace of its own with one bridge, to which every node is joined.
//
//   lab0  172.30.0.1/24, and 10.96.0.1 where pods expect the API server   node N  172.30.0.(10+N)/24, pods 10.88.N.0/24
//
// The namespace has no name in /run/netns and no way to the outside: it lives as long as its holder, and goes with it.
import { spawn } from "node:child_process";

import { attempt, run, script } from "./command.ts";
import { apiServiceAddress } from "./identities.ts";
import { dyingWithParent, inNetworkOf, type Place } from "./place.ts";
import type { StateFile } from "./state.ts";

export const bridgeAddress = "172.30.0.1";
/** In a namespace of its own the API server can have the port that pods expect it on. */
export const apiPortInNamespace = 443;
export const apiAddressForNodes = `https://${bridgeAddress}:${apiPortInNamespace}`;
export const nodeAddress = (index: number) => `172.30.0.${10 + index}`;
export const podNetwork = (index: number) => `10.88.${index}.0/24`;

export interface LabNetwork {
  /** A process in the namespace that does nothing else: `nsenter --net=/proc/PID/ns/net`. */
  readonly holderPid: number;
  readonly place: Place;
}

export async function makeNetwork(state: StateFile): Promise<LabNetwork> {
  const setup = script([
    ["ip", "link", "set", "lo", "up"],
    ["ip", "link", "add", "lab0", "type", "bridge"],
    ["ip", "addr", "add", `${bridgeAddress}/24`, "dev", "lab0"],
    ["ip", "addr", "add", `${apiServiceAddress}/32`, "dev", "lab0"],
    ["ip", "link", "set", "lab0", "up"],
    ["sysctl", "-qw", "net.ipv4.ip_forward=1"],
    ["echo", "ready"],
    ["exec", "sleep", "infinity"],
  ]);
  const [command = "", ...args] = dyingWithParent(["unshare", "--net", "--", ...setup]);
  const holder = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  let words = "";
  holder.stderr.setEncoding("utf8").on("data", (text: string) => (words += text));
  await new Promise<void>((resolve, reject) => {
    holder.once("error", reject);
    holder.once("close", (code) =>
      reject(new Error(`cannot make the network namespace of the cluster (${code}): ${words}`)),
    );
    holder.stdout.once("data", () => resolve());
  });
  holder.unref();
  state.recordProcess("network", holder.pid!);
  return { holderPid: holder.pid!, place: inNetworkOf(holder.pid!) };
}

/** Joins a node's network namespace, known by its init, to the bridge. */
export async function joinNode(network: LabNetwork, index: number, initPid: number): Promise<void> {
  // After a power cut the kernel takes the old cable away in its own time; a new one must not meet it.
  await attempt(network.place.wrap(["ip", "link", "del", vethOf(index)]));
  await run(
    network.place.wrap(
      script([
        ["ip", "link", "add", vethOf(index), "type", "veth", "peer", "name", "eth0", "netns", String(initPid)],
        ["ip", "link", "set", vethOf(index), "master", "lab0", "up"],
        ["ip", "route", "replace", podNetwork(index), "via", nodeAddress(index)],
      ]),
    ),
  );
}

/** Pulls the node's cable, or puts it back. */
export async function setCable(network: LabNetwork, index: number, state: "up" | "down"): Promise<void> {
  await run(network.place.wrap(["ip", "link", "set", vethOf(index), state]));
}

const vethOf = (index: number) => `node${index}`;
