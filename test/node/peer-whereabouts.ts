// The real whereabouts plugin, called as by a runtime. The environment has its path: nothing of it is in the checkout.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import type { RaceNetwork, Writer } from "./race.ts";
import { podArgs } from "./shim.ts";

export interface PeerOptions {
  readonly program: string;
  readonly kubeconfig: string;
  /** For its flat file, without which it answers nothing, and its kubeconfig. */
  readonly folder: string;
  /** Of its kubeconfig. Default: kube-system. */
  readonly namespace?: string;
}

export class PeerWhereabouts implements Writer {
  readonly name = "the real whereabouts";
  readonly #options: PeerOptions;
  readonly #flatFile: string;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.#flatFile = flatFile(options);
  }

  async add(network: RaceNetwork, pod: string): Promise<string> {
    const { code, out } = await this.#call("ADD", network, pod);
    const answer = JSON.parse(out) as { readonly ips?: readonly { readonly address: string }[]; readonly msg?: string };
    if (code !== 0 || answer.ips?.[0] === undefined) throw new Error(answer.msg ?? out);
    return answer.ips[0].address.split("/")[0]!;
  }

  async del(network: RaceNetwork, pod: string): Promise<void> {
    await this.#call("DEL", network, pod);
  }

  async #call(command: string, { name, range, overlaps }: RaceNetwork, pod: string) {
    const { program } = this.#options;
    const ipam = {
      type: "whereabouts",
      range,
      network_name: name,
      enable_overlapping_ranges: overlaps,
      configuration_path: this.#flatFile,
      log_level: "error",
    };
    const env = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: `c-${pod}`,
      CNI_NETNS: "/run/netns/test",
      CNI_IFNAME: "net1",
      CNI_ARGS: podArgs("default", pod),
      CNI_PATH: "/opt/cni/bin",
      NODENAME: "node1",
    };
    const child = spawn(program, [], { env, stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.end(JSON.stringify({ cniVersion: "1.0.0", name, type: "bridge", ipam }));
    const out = text(child.stdout);
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    child.on("error", reject);
    child.on("close", resolve);
    return { code: await promise, out: await out };
  }
}

/** Its pools are in the namespace of its kubeconfig's context. */
export function flatFile({ kubeconfig, folder, namespace = "kube-system" }: Omit<PeerOptions, "program">): string {
  const config = JSON.parse(readFileSync(kubeconfig, "utf8")) as { contexts: { context: { namespace?: string } }[] };
  for (const { context } of config.contexts) context.namespace = namespace;
  const own = join(folder, `kubeconfig-${namespace}`);
  writeFileSync(own, JSON.stringify(config));
  const file = join(folder, `whereabouts-${namespace}.conf`);
  writeFileSync(file, JSON.stringify({ kubernetes: { kubeconfig: own } }));
  return file;
}
