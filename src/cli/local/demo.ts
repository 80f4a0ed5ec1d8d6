// `holdfast demo`: pods that ask for an address and give it back, to see what happens to one. It speaks only to a
// `holdfast up` of this machine, never to a cluster.
import { Command } from "commander";

import { ReadingCommand, UsageError } from "../cluster-command.ts";
import type { Output } from "../program.ts";
import { defaultFolder } from "./up-folder.ts";

export interface DemoOptions {
  readonly data: string;
  readonly network: { readonly namespace: string; readonly name: string };
}

export interface DemoWork {
  /** What the pod was told: addresses with their prefix length, and how long the daemon took. */
  readonly add: (options: DemoOptions, pods: readonly string[], told: DemoTold) => Promise<void>;
  /** Addresses that the pod had; none: it had none. */
  readonly del: (options: DemoOptions, pods: readonly string[], told: DemoTold) => Promise<void>;
}

export type DemoTold = (pod: string, addresses: readonly string[], tookMs: number) => void;

/** More at once would show nothing else. */
const podsLimit = 250;
const podName = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function demoCommand(output: Output, work: DemoWork): Command {
  const command = new Command("demo").description(
    "Play pods on the `holdfast up` of this machine: each asks for an address as a container runtime would, or gives it back.",
  );
  const part = (name: "add" | "del", about: string) => {
    const made = new ReadingCommand(name);
    command.addCommand(made);
    return made
      .description(about)
      .argument("<pod...>", "names of pods; web{1..20} in most shells is twenty of them")
      .option("--network <namespace/name>", "the network that they are on", "example/blue")
      .option("--data <folder>", "of `holdfast up` (default: ~/.local/state/holdfast)");
  };
  part("add", "Make pods with an address each. One that has its address already is told it again.")
    .examples(["holdfast demo add web", "one pod"], ["holdfast who 10.77.0.2", "whose it is, why"])
    .action(async (pods: string[], given: Given) => {
      const options = read(given, pods);
      await work.add(options, pods, (pod, addresses, tookMs) =>
        output.line(`${pod} has ${addresses.join(" and ")}, after ${tookMs.toFixed(1)} ms`),
      );
      output.line(`\nWhose an address is, and why: ./holdfast who ADDRESS. All: ./holdfast pools`);
    });
  part("del", "End pods: their addresses are given back, and rest before somebody else has them.")
    .examples(["holdfast demo del web", "it gives its address back"])
    .action((pods: string[], given: Given) =>
      work.del(read(given, pods), pods, (pod, addresses) =>
        output.line(addresses.length === 0 ? `${pod} had no address` : `${pod} gave ${addresses.join(" and ")} back`),
      ),
    );
  return command;
}

interface Given {
  readonly network: string;
  readonly data?: string;
}

function read({ network, data = defaultFolder() }: Given, pods: readonly string[]): DemoOptions {
  const [namespace = "", name = "", ...more] = network.split("/");
  if (namespace === "" || name === "" || more.length > 0) {
    throw new UsageError(`--network ${JSON.stringify(network)} is no network: give NAMESPACE/NAME, as example/blue.`);
  }
  const wrong = pods.find((pod) => !podName.test(pod));
  if (wrong !== undefined) {
    throw new UsageError(
      `${JSON.stringify(wrong)} is no name of a pod: small letters, digits and dashes, 63 at the most.`,
    );
  }
  if (pods.length > podsLimit) throw new UsageError(`these are ${pods.length} pods: give ${podsLimit} at the most.`);
  return { data, network: { namespace, name } };
}
