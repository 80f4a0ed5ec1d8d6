// `holdfast who`: who holds an address or uses a MAC, or what a pod, a claim or a VM holds, since when and why.
import type { Command } from "commander";

import type { Unheld } from "../check/unheld.ts";
import { type Answer, answerLines, type Asked, parseAsked } from "../check/who.ts";
import { attempt } from "../net/coded-error.ts";
import { NetError } from "../net/error.ts";
import { ClusterCommand, type LookOptions, type Printed, UsageError, print } from "./cluster-command.ts";
import type { Output } from "./program.ts";

export interface WhoAnswers {
  readonly holds: readonly Answer[];
  /** Of an address that nobody holds: what it is in each network that has it. */
  readonly unheld: readonly Unheld[];
}

export type Who = (options: LookOptions, asked: Asked) => Promise<WhoAnswers>;

export function whoCommand(output: Output, who: Who): Command {
  return new ClusterCommand("who")
    .description(
      "Say who holds an address, or which addresses a MAC, a pod, a claim or a VM has: since when, on which node, used by which pods, and why. Of an address that nobody holds: whether it is free, and why not.",
    )
    .argument(
      "<address-or-owner>",
      "10.0.0.7, fd00::7, 10.0.0.0/28, 02:00:0a:00:00:07, namespace/name of a pod, claim or VM, or one of the namespace default",
    )
    .systemNamespace()
    .printed()
    .action(async (text: string, { output: format, ...options }: LookOptions & Printed) => {
      const asked = attempt(
        NetError,
        () => parseAsked(text),
        (error) => {
          throw new UsageError(error.message, 2, { cause: error });
        },
      );
      const { holds, unheld } = await who(options, asked);
      // Of a whole block a line each is what can be read.
      const linesOf = (answer: Answer) => ("block" in asked ? answerLines(answer).slice(0, 1) : answerLines(answer));
      const lines = [...holds.flatMap(linesOf), ...unheld.map((each) => unheldLine(text, each))];
      print(output, format, { holds, unheld }, lines);
      if (holds.length + unheld.length === 0) throw new UsageError(nobody(text, asked), 1);
    });
}

function unheldLine(text: string, { words, network, definitions, pool }: Unheld): string {
  const where = network === "" ? "the network without a name" : `network ${network}`;
  return `${text} of ${where}: nobody, ${words} (${definitions.join(", ")}; pool ${pool})`;
}

function nobody(text: string, asked: Asked): string {
  if ("address" in asked) {
    return `nobody holds ${text}, and no network attachment definition of ours has it in a range: \`holdfast pools\` lists the ranges.`;
  }
  if ("block" in asked) return `nobody holds an address of ${text}.`;
  return `nobody holds ${text}, or it is no MAC, pod, claim or VM that holds anything.`;
}
