// Plans and carries out moves, NIC by NIC, and reports on each. A NIC that changed meanwhile is looked at again.
import { restsOf } from "../../cluster/state.ts";
import { LedgerError } from "../../ipam/ledger.ts";
import { isApiError } from "../../kube/errors.ts";
import { ClaimsError, describeClaim, type Move, type MoveDecision } from "./move.ts";
import { perform, type PerformOptions } from "./perform.ts";
import { type ClaimsSnapshot, snapshotIndex, type SnapshotIndex } from "./snapshot.ts";

export interface MovingOptions extends PerformOptions {
  readonly look: () => Promise<ClaimsSnapshot>;
  readonly plan: (books: SnapshotIndex) => readonly MoveDecision[];
  readonly dryRun: boolean;
  readonly say: (line: string) => void;
}

export interface MovingReport {
  readonly moved: number;
  /** As they must be already. */
  readonly already: number;
  readonly refused: number;
}

/** A leader that works on the same claims writes a few times; who is overtaken more often than that is told. */
const roundsMax = 5;
/** Of many, a word now and then. */
const progressEvery = 100;

/** Throws ClaimsError where nothing can be done at all. */
export async function moveAll(options: MovingOptions): Promise<MovingReport> {
  const { plan, dryRun, say } = options;
  const books = await look(options);
  const decisions = plan(books);
  const report = { moved: 0, already: 0, refused: 0 };
  for (const [index, decision] of decisions.entries()) {
    if (index > 0 && index % progressEvery === 0) say(`${index} of ${decisions.length} done`);
    const { kind, line } = dryRun ? said(decision) : await carryOut(decision, options);
    report[kind] += 1;
    say(line);
  }
  return report;
}

async function look(options: Pick<MovingOptions, "look">): Promise<SnapshotIndex> {
  const snapshot = await options.look();
  if (!snapshot.hasClaims) {
    throw new ClaimsError(
      "no-kind",
      "The cluster does not have the kind IPAMClaim: holdfast claims install-crd makes it.",
    );
  }
  const rests = restsOf(snapshot.state);
  if (rests !== "") throw new ClaimsError("not-now", `No claim gets an address now (${rests}): call this afterwards.`);
  return snapshotIndex(snapshot);
}

interface Said {
  readonly kind: keyof MovingReport;
  readonly line: string;
}

function said(decision: MoveDecision): Said {
  switch (decision.kind) {
    case "move":
      return { kind: "moved", line: `${decision.what}: would do: ${wordsOf(decision.move)}` };
    case "done":
      return { kind: "already", line: `${decision.what}: ${decision.words}` };
    case "refused":
      return { kind: "refused", line: `${decision.what}: refused: ${decision.why}.` };
  }
}

async function carryOut(first: MoveDecision, options: MovingOptions): Promise<Said> {
  let decision: MoveDecision | undefined = first;
  let why = "";
  for (let round = 1; round <= roundsMax; round++) {
    if (decision?.kind !== "move") break;
    const { move, what }: { readonly move: Move; readonly what: string } = decision;
    const result = await performed(move, options);
    if (result.outcome === "done") {
      return { kind: "moved", line: `${what}: ${doneWords(move, describeClaim(result.claim), result.addresses)}` };
    }
    if (result.outcome === "refused") return { kind: "refused", line: `${what}: refused: ${result.why}.` };
    why = result.why;
    const again = options.plan(await look(options));
    decision = again.find((each) => each.what === what);
  }
  // It is not asked for any more: somebody else has done it.
  if (decision === undefined) return { kind: "already", line: `${first.what}: it is as it must be by now` };
  if (decision.kind !== "move") return said(decision);
  return { kind: "refused", line: `${first.what}: refused: ${why}, again and again: call this once more.` };
}

/** A failure of one NIC is no reason to leave the others. */
async function performed(move: Move, options: MovingOptions) {
  try {
    return await perform(move, options);
  } catch (error) {
    const isTold =
      error instanceof LedgerError || isApiError(error, "forbidden", "invalid", "too-many-requests", "unavailable");
    if (!isTold) throw error;
    return { outcome: "refused", why: (error as Error).message.replace(/\.$/, "") } as const;
  }
}

function wordsOf({ claim, pass, take, users }: Move): string {
  const [name, verb] =
    claim.kind === "create" || claim.kind === "replace"
      ? [describeClaim(claim.object), claim.kind]
      : [describeClaim(claim.claim), claim.kind === "mark" ? "mark" : "keep"];
  const parts = [
    `${verb} ${name}`,
    ...pass.map(({ held }) => `pass ${held.hold.address} on`),
    ...take.map(({ address }) => `hold ${address}`),
    ...(users.length === 0 ? [] : [`used by ${users.map((each) => each.name).join(", ")}`]),
  ];
  return parts.join(", ");
}

function doneWords({ pass }: Move, claim: string, addresses: readonly string[]): string {
  if (addresses.length === 0) return `${claim} is ours; no address of it is ours to hold`;
  const passed = pass.length === 0 ? "held now" : "passed on";
  return `${claim} has ${addresses.join(" and ")}, ${passed}`;
}
