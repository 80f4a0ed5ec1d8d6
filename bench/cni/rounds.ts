// Many calls at once, in rounds: every contestant has a round before any has the next, so that a busy minute hits all.
import { type Attachment, attachmentOf, type BenchPod, type Command } from "./attachment.ts";
import type { Contestant } from "./contestant.ts";
import { type LoadResult, runLoad } from "./load.ts";

export interface RoundPlan {
  readonly contestant: Contestant;
  readonly command: Command;
  readonly attachments: readonly Attachment[];
  readonly atOnce: number;
  readonly limitMs: number;
}

export function oneRound({ contestant, command, attachments, atOnce, limitMs }: RoundPlan): Promise<LoadResult> {
  const call = (index: number) => contestant.call(command, attachments[index]!);
  return runLoad({ count: attachments.length, atOnce, limitMs, call });
}

/** One interface of that name for each pod. */
export function attachmentsOf(pods: readonly BenchPod[], port: string): Attachment[] {
  return pods.map((pod) => attachmentOf(pod, port));
}

export type RoundFigures = Omit<LoadResult, "replies">;

/** The round of the median rate. */
export function medianRound(loads: readonly LoadResult[]): RoundFigures {
  const sorted = loads.toSorted((a, b) => a.figures.perSecond - b.figures.perSecond);
  const { replies: _, ...figures } = sorted[Math.floor(sorted.length / 2)]!;
  return figures;
}
