// Contestants in turn, one call each, so that a busy moment of the machine hits all of them.
import type { Attachment, BenchPod, Command } from "./attachment.ts";
import { attachmentOf } from "./attachment.ts";
import type { Contestant } from "./contestant.ts";
import { type LoadResult, resultOf } from "./load.ts";
import type { Reply } from "./reply.ts";

export interface TurnsPlan {
  readonly contestants: readonly Contestant[];
  readonly pods: readonly BenchPod[];
  /**
   * Begins the names of the interfaces; each contestant has its own on each pod. An owner that returns during the
   * cooldown gets its address back, another path than a new pod's: so every measurement has a new name.
   */
  readonly prefix: string;
  /** Time after which no turn begins. */
  readonly limitMs: number;
}

/** What one contestant did: every ADD, then every DEL. */
export interface TurnsResult {
  readonly add: LoadResult;
  readonly del: LoadResult;
  /** What was attached, in the order of `add.replies`. */
  readonly attachments: readonly Attachment[];
}

export async function inTurns({ contestants, pods, prefix, limitMs }: TurnsPlan): Promise<Map<string, TurnsResult>> {
  const attachments = contestants.map((_, index) => pods.map((pod) => attachmentOf(pod, `${prefix}${index}`)));
  const round = async (command: Command) => {
    const startedMs = performance.now();
    const replies: Reply[][] = contestants.map(() => []);
    for (let turn = 0; turn < pods.length && performance.now() - startedMs < limitMs; turn++) {
      for (const [index, contestant] of contestants.entries()) {
        replies[index]!.push(await contestant.call(command, attachments[index]![turn]!));
      }
    }
    return replies.map((each) => resultOf(each, busyMs(each)));
  };
  const add = await round("ADD");
  const del = await round("DEL");
  return new Map(
    contestants.map(({ name }, index) => [
      name,
      { add: add[index]!, del: del[index]!, attachments: attachments[index]! },
    ]),
  );
}

/** Each has the machine to itself during its turn: its rate is over its own time. */
function busyMs(replies: readonly Reply[]): number {
  return replies.reduce((sum, { tookMs }) => sum + tookMs, 0);
}
