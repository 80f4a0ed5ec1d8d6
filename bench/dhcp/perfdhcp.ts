// One run of perfdhcp, the load generator of Kea: so many DORA exchanges a second for some seconds, as a relay, with
// MACs drawn from a fixed set. Its report is text; this reads it.
import { attempt } from "../../test/lab/command.ts";

export interface Load {
  /** Name of the namespace that it runs in, with eth0. */
  readonly namespace: string;
  readonly server: string;
  readonly clients: number;
  /** Its address and those of the clients begin here: `02:00:00:00:00:00`. */
  readonly macBase: string;
}

export interface RunPlan {
  /** Exchanges a second. */
  readonly rate: number;
  readonly seconds: number;
  /** Every exchange's times are printed: some more work for perfdhcp. */
  readonly withTimes?: boolean;
}

export interface RunResult {
  readonly asked: number;
  /** Whole exchanges a second, by perfdhcp's own count. */
  readonly rate: number;
  readonly sent: number;
  readonly drops: number;
  /** Drops of both pairs of messages, as a part of DISCOVERs sent. */
  readonly dropped: number;
  /** DISCOVER to OFFER, then REQUEST to ACK, in ms; only with times. */
  readonly delaysMs: readonly number[];
  /** Processor time that perfdhcp itself took. */
  readonly generatorCpuMs: number;
}

export async function perfdhcp(load: Load, { rate, seconds, withTimes }: RunPlan): Promise<RunResult> {
  const words = ["ip", "netns", "exec", load.namespace, "perfdhcp", "-4", "-g", "multi", "-l", "eth0"];
  words.push("-r", String(rate), "-R", String(load.clients), "-b", `mac=${load.macBase}`);
  // The seed is fixed: every server is asked by the same clients in the same order.
  words.push("-p", String(seconds), "-W", "1", "-s", "1", ...(withTimes ? ["-x", "t"] : []), load.server);
  // The shell's `times` says what its children took: user and system, on the second line.
  const result = await attempt(["sh", "-c", '"$@"; status=$?; times >&2; exit $status', "sh", ...words]);
  // 3: some packets were dropped. It is a result like any other.
  if (result.status !== 0 && result.status !== 3)
    throw new Error(`perfdhcp ended with ${result.status}: ${(result.stderr || result.stdout).slice(-500)}`);
  return { ...readReport(result.stdout, rate), generatorCpuMs: childrenCpuMs(result.stderr) };
}

export function childrenCpuMs(times: string): number {
  const children = times.trim().split("\n").at(-1) ?? "";
  const parts = children.matchAll(/(\d+)m([\d.]+)s/g);
  return parts.reduce((sum, [, minutes, seconds]) => sum + 1000 * (60 * Number(minutes) + Number(seconds)), 0);
}

export function readReport(text: string, asked: number): Omit<RunResult, "generatorCpuMs"> {
  const rate = number(/Rate: ([\d.e+]+) 4-way exchanges\/second/, text) ?? 0;
  const pairs = text.split("***Statistics for: ").slice(1);
  const sums = pairs.map((pair) => ({
    sent: number(/sent packets: (\d+)/, pair) ?? 0,
    drops: number(/drops: (-?\d+)/, pair) ?? 0,
  }));
  const sent = sums[0]?.sent ?? 0;
  const drops = sums.reduce((sum, each) => sum + Math.max(0, each.drops), 0);
  return { asked, rate, sent, drops, dropped: sent === 0 ? 1 : drops / sent, delaysMs: delaysOf(text) };
}

/** Lines of two times in seconds: `sent / received: 000000.000104 / 000000.017102`. */
function delaysOf(text: string): number[] {
  const lines = text.matchAll(/^sent \/ received: ([\d.]+) \/ ([\d.]+)$/gm);
  return Array.from(lines, ([, sent, received]) => 1000 * (Number(received) - Number(sent)));
}

function number(pattern: RegExp, text: string): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}
