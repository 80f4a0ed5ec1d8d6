// `holdfast who`: who holds an address or uses a MAC, or what a pod, a claim or a VM holds, since when and why.
import type { Command } from "commander";

import { type Answer, answerLines, type Asked, parseAsked } from "../check/who.ts";
import { ClusterCommand, type LookOptions, type Printed, UsageError, print } from "./cluster-command.ts";
import type { Output } from "./program.ts";

export type Who = (options: LookOptions, asked: Asked) => Promise<readonly Answer[]>;

export function whoCommand(output: Output, who: Who): Command {
  return new ClusterCommand("who")
    .description(
      "Say who holds an address, or which addresses a MAC, a pod, a claim or a VM has: since when, on which node, used by which pods, and why.",
    )
    .argument(
      "<address-or-owner>",
      "10.0.0.7, fd00::7, 02:00:0a:00:00:07, namespace/name of a pod, claim or VM, or one of the namespace default",
    )
    .systemNamespace()
    .printed()
    .action(async (text: string, { output: format, ...options }: LookOptions & Printed) => {
      const holds = await who(options, parseAsked(text));
      print(output, format, { holds }, holds.flatMap(answerLines));
      if (holds.length === 0)
        throw new UsageError(`nobody holds ${text}, or it is no MAC, pod, claim or VM that holds anything.`, 1);
    });
}
