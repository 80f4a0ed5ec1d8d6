// `holdfast coexistence`: the operator's word on whether whereabouts may write beside us, and what has come of it.
import { Command } from "commander";

import { defaultUpstreamNamespaces } from "../ledger/coexistence/upstream.ts";
import { ClusterCommand, type ConnectionOptions, type Printed, UsageError, print } from "./cluster-command.ts";
import { type CoexistenceOptions, type CoexistenceReport, isWhole, reportLines } from "./coexistence-word.ts";
import type { Output } from "./program.ts";

type StatusOptions = ConnectionOptions & CoexistenceOptions;

export interface WordRequest extends StatusOptions {
  readonly word: "on" | "off";
  /** 0: do not wait. */
  readonly timeoutMs: number;
  /** Where pools are to be; undefined: where they are. */
  readonly namespace?: string;
}
export interface Coexistence {
  readonly status: (options: StatusOptions) => Promise<CoexistenceReport>;
  /** Writes the word, and waits for it to be in force. */
  readonly say: (request: WordRequest) => Promise<CoexistenceReport>;
}

export function coexistenceCommand(output: Output, coexistence: Coexistence): Command {
  return new Command("coexistence")
    .description(
      "Whether whereabouts may hand out of the same ranges: your word, what is in force, and what it waits for.",
    )
    .addCommand(statusCommand(output, coexistence), { isDefault: true })
    .addCommand(wordCommand("on", onAbout, output, coexistence))
    .addCommand(wordCommand("off", offAbout, output, coexistence));
}

const onAbout =
  "Let whereabouts write beside us: from now on every address is also written where it looks. Start it when this command ends, not before. Slices and persistent addresses rest meanwhile.";
const offAbout =
  "End coexistence: when whereabouts is removed and silent, its pools are adopted and nothing is written for it any more.";

function commandOf(name: string, about: string): ClusterCommand {
  return new ClusterCommand(name)
    .description(about)
    .systemNamespace("where pools and the shared state are")
    .names(
      "--whereabouts-namespaces <names>",
      "where whereabouts is looked for, beside the system namespace, with commas",
      defaultUpstreamNamespaces,
    );
}

function statusCommand(output: Output, coexistence: Coexistence): Command {
  const about = "Show the word, what is in force, and signs of whereabouts. What `holdfast coexistence` does.";
  return commandOf("status", about)
    .printed()
    .action(async ({ output: format, ...options }: StatusOptions & Printed) => {
      const report = await coexistence.status(options);
      print(output, format, report, reportLines(report));
    });
}

type WordFlags = StatusOptions & Pick<WordRequest, "timeoutMs" | "namespace"> & { readonly dryRun: boolean };

function wordCommand(word: "on" | "off", about: string, output: Output, coexistence: Coexistence): Command {
  return commandOf(word, about)
    .option(
      "--namespace <name>",
      "where whereabouts keeps its pools, and we ours beside them; on finds it by its workloads (default: where pools are)",
    )
    .option("--dry-run", "show what is, and what the word would begin; write nothing", false)
    .duration("--timeout-seconds", "how long to wait until it is in force; 0: do not wait", word === "on" ? 120 : 0)
    .action(async ({ dryRun, timeoutMs, namespace: given, ...options }: WordFlags) => {
      const before = await coexistence.status(options);
      const namespace = given ?? (word === "on" ? found(before) : undefined);
      const place = namespace === undefined ? {} : { namespace };
      if (dryRun) {
        const moves = namespace === undefined || namespace === before.namespace ? "" : ` Pools go to ${namespace}.`;
        for (const line of [...reportLines(before), "", `${planned(word, before)}${moves}`]) output.line(line);
        return;
      }
      const report = await coexistence.say({ ...options, word, timeoutMs, ...place });
      for (const line of reportLines(report)) output.line(line);
      if (isWhole(report, word)) output.line(word === "on" ? "whereabouts may be started." : "Coexistence is over.");
      else if (timeoutMs > 0)
        throw new UsageError(
          "the word is written, and not in force yet: `holdfast coexistence` shows what it waits for.",
          1,
        );
      else output.line("The word is written; `holdfast coexistence` shows when it is in force.");
    });
}

function planned(word: "on" | "off", { inForce }: CoexistenceReport): string {
  if (inForce === word) return `It is ${word} already: nothing would change but who said it.`;
  return word === "on"
    ? "Would begin coexistence: entries, finalizers and second names for all that is held, then a word to start whereabouts; slices and persistent addresses rest."
    : "Would end coexistence as soon as whereabouts is silent: its pools are adopted, finalizers and second names go.";
}

/** The namespace of whereabouts' pools, by what runs; recorded, not looked for again. Undefined: ours, or unseen. */
function found({ whereabouts: { reconciler, elsewhere }, namespace }: CoexistenceReport): string | undefined {
  const others = [...new Set(elsewhere.map((each) => each.namespace))];
  if (others.length === 0) return undefined;
  if (others.length === 1 && !reconciler) return others[0];
  const all = [...(reconciler ? [namespace] : []), ...others];
  throw new UsageError(
    `whereabouts keeps its pools in several namespaces (${elsewhere.map(({ workload }) => workload).join(", ")}), and each is a ledger of its own: ` +
      `say with --namespace which of ${all.join(", ")} Holdfast shares, and remove the others.`,
    1,
  );
}
