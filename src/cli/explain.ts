// `holdfast explain`: which address a pod would get from a range, and why not another. Needs no cluster.
import { Command, Option } from "commander";

import { decide } from "../ipam/decide.ts";
import { DefinitionError, type PoolDefinition, usableOf } from "../ipam/definition.ts";
import type { PodOwner } from "../ipam/owner.ts";
import { Pool, PoolError } from "../ipam/pool.ts";
import type { Decision, Strategy, Want } from "../ipam/request.ts";
import { formatTrace } from "../ipam/trace.ts";
import { type Address, parseAddress } from "../net/address.ts";
import { NetError } from "../net/error.ts";
import { intersection, intervalOf, parseBlock, parseRange } from "../net/interval.ts";
import { parsePrefix, type Prefix } from "../net/prefix.ts";
import { collected, UsageError, print } from "./cluster-command.ts";
import type { Output } from "./program.ts";

interface ExplainOptions {
  readonly range: string;
  readonly slice?: string;
  readonly start?: string;
  readonly end?: string;
  readonly exclude: readonly string[];
  readonly gateway?: string;
  readonly held: readonly string[];
  readonly for: string;
  readonly want?: string;
  readonly prefer?: string;
  readonly strategy: Strategy["kind"];
  readonly l3: boolean;
  readonly lines: string;
  readonly json: boolean;
}

export function explainCommand(output: Output): Command {
  return new Command("explain")
    .description("Say which address of a range a pod would get, and why lower ones were passed over. Needs no cluster.")
    .requiredOption("--range <cidr>", "the range: 10.0.0.0/24, or 10.0.0.10-10.0.0.50/24")
    .option("--slice <cidr>", "the part of the range that the pod's node hands out: its slice, or a piece of one")
    .option("--start <address>", "lowest address to hand out")
    .option("--end <address>", "highest address to hand out")
    .option("--exclude <block>", "address, CIDR or A-B that is never handed out (repeat it for more)", collected, [])
    .option("--gateway <address>", "the gateway, which is reserved")
    .option("--held <address=namespace/pod>", "an address that a pod has (repeat it for more)", collected, [])
    .option("--for <namespace/pod>", "the pod that asks", "default/pod")
    .option("--want <address>", "ask for this address and no other")
    .option("--prefer <address>", "ask for this address, or any")
    .addOption(
      new Option("--strategy <name>", "how a free one is chosen")
        .choices(["lowest", "random", "spread", "sticky"])
        .default("lowest"),
    )
    .option("--l3", "the first and the last address of the network are usable (enable_l3)", false)
    .option("--lines <count>", "lines of explanation at most", "16")
    .option("--json", "print the decision as JSON", false)
    .action((options: ExplainOptions) => explain(options, output));
}

function explain(options: ExplainOptions, output: Output): void {
  const limit = Number(options.lines);
  if (!Number.isInteger(limit) || limit < 1) {
    throw new UsageError(`--lines ${JSON.stringify(options.lines)} is no number of lines: give 1 or more.`);
  }
  const { pool, want, owner } = understood(() => ({
    pool: buildPool(options),
    want: wantOf(options),
    owner: podOwner(options.for, "--for"),
  }));
  const strategy: Strategy =
    options.strategy === "spread"
      ? { kind: "spread", stripes: 16, first: Math.floor(16 * Math.random()), step: 1 }
      : { kind: options.strategy };
  const decision = decide(pool, { owner, want, strategy }, Math.random);
  const trace = formatTrace(decision.trace(limit));
  print(output, options.json ? "json" : "text", { ...asData(decision), trace }, asText(decision, pool, trace));
  if (decision.kind === "refusal") throw new UsageError(decision.message, 1);
}

function asData(decision: Decision): Record<string, unknown> {
  return decision.kind === "grant"
    ? { address: String(decision.address), why: decision.why, early: decision.early }
    : { refused: decision.code, message: decision.message };
}

function asText(decision: Decision, pool: Pool, trace: readonly string[]): string[] {
  const { usable, free, allocated, withheld } = pool.counts();
  const totals = `${usable} usable, ${free} free, ${allocated} held, ${withheld} excluded or reserved`;
  const answer = decision.kind === "grant" ? `${decision.address}  (${decision.why})` : `refused: ${decision.code}`;
  return [answer, ...trace.map((line) => `  ${line}`), `${pool.definition.prefix}: ${totals}`];
}

function buildPool(options: ExplainOptions): Pool {
  const range = parseRange(options.range, { sloppy: true });
  const start = options.start === undefined ? range.start : parseAddress(options.start);
  const end = options.end === undefined ? range.end : parseAddress(options.end);
  const whole: PoolDefinition = {
    prefix: range.prefix,
    l3: options.l3,
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
  };
  const definition: PoolDefinition = {
    ...whole,
    ...(options.slice === undefined ? {} : endsOf(whole, parsePrefix(options.slice))),
    excludes: options.exclude.map((block) => parseBlock(block)),
    ...(options.gateway === undefined ? {} : { gateway: parseAddress(options.gateway) }),
  };
  const pool = new Pool(definition, Date.now);
  for (const entry of options.held) {
    const [address, pod, ...more] = entry.split("=");
    if (pod === undefined || more.length > 0)
      throw new UsageError(`--held ${JSON.stringify(entry)} is not of the form address=namespace/pod.`);
    pool.take(parseAddress(address!), podOwner(pod, "--held"));
  }
  return pool;
}

/** Where slice and range meet: the first and the last address of a slice are addresses like any other. */
function endsOf(whole: PoolDefinition, slice: Prefix): { readonly start: Address; readonly end: Address } {
  const both = intersection(usableOf(whole), intervalOf(slice));
  if (both !== undefined) return { start: both.first, end: both.last };
  throw new UsageError(`--slice ${slice} has no address that ${whole.prefix} hands out: give a block inside it.`);
}

function wantOf({ want, prefer }: ExplainOptions): Want {
  if (want !== undefined && prefer !== undefined)
    throw new UsageError("--want and --prefer exclude each other: give one.");
  if (want !== undefined) return { kind: "given", address: parseAddress(want) };
  return prefer === undefined ? { kind: "any" } : { kind: "preferred", address: parseAddress(prefer) };
}

function podOwner(text: string, flag: string): PodOwner {
  const [namespace, name, ...more] = text.split("/");
  if (namespace === undefined || namespace === "" || name === undefined || name === "" || more.length > 0) {
    throw new UsageError(`${flag} ${JSON.stringify(text)} is no pod: write namespace/name.`);
  }
  return { kind: "pod", uid: "", namespace, name, interface: "eth0" };
}

/** Bad addresses and ranges are the user's, and their sentences are made for the user. */
function understood<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof NetError || error instanceof DefinitionError || error instanceof PoolError) {
      throw new UsageError(error.message, 2, { cause: error });
    }
    throw error;
  }
}
