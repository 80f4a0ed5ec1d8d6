// What the benchmark and a process of its daemons say to each other, as JSON over the channel that fork makes.
import type { Attachment, BenchPod, Command } from "../cni/attachment.ts";
import type { FleetNode } from "../cni/fleet.ts";
import type { Reply } from "../cni/reply.ts";
import type { TrafficReading } from "../cni/traffic.ts";
import type { Held } from "./audit.ts";

export interface HostNetwork {
  readonly name: string;
  readonly config: string;
}

/** ADD of every pod in every network: one after another per pod, as a delegating plugin asks; `atOnce` pods at once. */
export interface RollOrder {
  readonly pods: readonly BenchPod[];
  readonly networks: readonly HostNetwork[];
  readonly atOnce: number;
}

export interface Rolled {
  /** Of the calls that gave an address. */
  readonly tookMs: readonly number[];
  /** What was answered. */
  readonly held: readonly Held[];
  readonly refused: number;
  /** The first few reasons, each once. */
  readonly problems: readonly string[];
}

interface Measured {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly cpuMs: number;
  /** Open descriptors: sockets and files. */
  readonly descriptors: number;
  readonly traffic: TrafficReading;
}

/** Key: what is asked; the question and its answer. */
export interface HostTasks {
  start: {
    ask: { readonly nodes: readonly FleetNode[]; readonly folder: string };
    answer: { readonly tookMs: number };
  };
  roll: { ask: RollOrder; answer: Rolled };
  /** One call to the daemon of a node. */
  call: {
    ask: {
      readonly node: string;
      readonly command: Command;
      readonly attachment: Attachment;
      readonly config: string;
    };
    answer: Reply;
  };
  /** `collect`: garbage first, which costs processor time: not between two readings of that. */
  measure: { ask: { readonly collect: boolean }; answer: Measured };
  /** The daemons end; then what their journals hold is read from the disk. */
  end: { ask: Record<string, never>; answer: { readonly held: readonly Held[]; readonly damaged: number } };
}

export type HostTask = keyof HostTasks;

export interface HostQuestion<Task extends HostTask = HostTask> {
  readonly serial: number;
  readonly task: Task;
  readonly ask: HostTasks[Task]["ask"];
}

export interface HostAnswer {
  readonly serial: number;
  readonly answer?: unknown;
  /** Its stack; where it failed. */
  readonly failure?: string;
}
