// Makes holds again that live sandboxes of this node use and the API server has lost: a restored etcd, a slip of
// kubectl. A sandbox lives from the answer of its ADD to its DEL, while its network namespace is the one that it had
// and no later sandbox of the pod is known for the interface. Promised: nothing is written where a hold is there; a
// hold of another owner is an alarm (event, metric, a mark that `holdfast check` finds), and stays. A hold that the
// leader freed because its pod is gone stays free: without a pod a hold is made again only after a restore, which may
// have forgotten the pod. Then this daemon vouches for it while the sandbox is there; later the leader decides. So with
// a claim: its pod may live on without the NIC, and the claim made anew would get the old address beside its own.
import { ObjectError as BadObject } from "../../api/error.ts";
import { usedByAnnotation } from "../../api/holds/hold-marks.ts";
import { isOffServer, mayLackMirror } from "../../api/holds/pod-uid.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import { describeDomain, type Hold, LedgerError } from "../../ipam/ledger.ts";
import { type ClaimOwner, describeOwner, ownerKey, sameContainer, sameOwner, succeeds } from "../../ipam/owner.ts";
import { isApiError } from "../../kube/errors.ts";
import { recordsOf } from "../../ledger/reservation/records.ts";
import { parseAddress } from "../../net/address.ts";
import type { FenceFacts } from "../claims/fence/fence-facts.ts";
import type { DaemonOptions, Tell } from "../context.ts";
import type { Ledgers } from "../pools/ledgers.ts";
import type { PoolResolver } from "../pools/pool-resolver.ts";
import type { Intents } from "../release/intents.ts";
import { attachmentOf, type HoldIndex, placeKey, placeOf } from "./hold-index.ts";
import { type HoldPlace, type KnownSandbox, type SandboxHold, sandboxHold, type Sandboxes } from "./sandboxes.ts";

export interface ReassertOptions extends Pick<DaemonOptions, "client" | "node" | "cooldownMs" | "log"> {
  readonly facts: FenceFacts;
  readonly isClaimGone: (claim: ClaimOwner, signal: AbortSignal) => Promise<boolean>;
  readonly ledgers: Pick<Ledgers, "shared">;
  readonly held: HoldIndex;
  readonly sandboxes: Pick<Sandboxes, "all" | "get" | "forget" | "move" | "isThere">;
  readonly intents: Pick<Intents, "get">;
  readonly poolResolver: Pick<PoolResolver, "find">;
  /** The holder of the address in a node's slice, where its range was cut. */
  readonly inSlice: (place: HoldPlace, signal: AbortSignal) => Promise<Hold | undefined>;
  /** Longer than between two rounds. */
  readonly vouchMs: () => number;
  /** The wall clock. */
  readonly now: () => number;
  readonly tell: Tell;
  readonly onMade: () => void;
}

export interface Round {
  /** This node's holds at the server, perhaps a little while ago. */
  readonly listed: readonly RecordedHold[];
  readonly afterRestore: boolean;
  readonly signal: AbortSignal;
}

/** A hold takes three requests of milliseconds: a node of 250 pods is done within a second. */
const atOnce = 8;

export class Reassert {
  readonly #options: ReassertOptions;
  /** container/interface address -> the sandbox, where another owner holds its address */
  readonly #conflicts = new Map<string, KnownSandbox>();
  /** The same, of holds made again: a slice may have given the unrecorded address meanwhile, and show it later. */
  readonly #made = new Map<string, { readonly sandbox: KnownSandbox; readonly hold: SandboxHold }>();

  constructor(options: ReassertOptions) {
    this.#options = options;
  }

  get conflicts(): number {
    const { sandboxes } = this.#options;
    return [...this.#conflicts.values()].filter((sandbox) => sandboxes.get(sandbox) === sandbox).length;
  }

  /** Throws where the API server does not answer. A final refusal is logged, and keeps nobody waiting. */
  async round(round: Round): Promise<void> {
    const { sandboxes, intents } = this.#options;
    const { listed, signal } = round;
    for (const [key, { sandbox, hold }] of this.#made) {
      if (sandboxes.get(sandbox) === sandbox) await this.#askSlices(sandbox, hold, signal);
      else this.#made.delete(key);
    }
    const missing: { sandbox: KnownSandbox; hold: SandboxHold }[] = [];
    const vouched: { sandbox: KnownSandbox; entry: RecordedHold }[] = [];
    const byAddress = Map.groupBy(listed, ({ hold }) => String(hold.address));
    for (const known of sandboxes.all()) {
      if (intents.get(known) !== undefined) continue;
      if ((await sandboxes.isThere(known)) === false) {
        await sandboxes.forget(known);
        continue;
      }
      const now = known.holds.map((hold) => ownOf(hold, byAddress.get(hold.address) ?? []));
      const isMoved = now.some((each, i) => each !== undefined && !isAt(each, known.holds[i]!));
      const moved = () =>
        known.holds.map((hold, i) =>
          now[i] && !isAt(now[i], hold) ? sandboxHold(now[i].namespace, now[i].hold) : hold,
        );
      const sandbox = isMoved ? await sandboxes.move(known, moved()) : known;
      // Its DEL may have come meanwhile.
      if (sandbox === undefined) continue;
      for (const [i, hold] of sandbox.holds.entries()) {
        const entry = now[i];
        if (entry === undefined) missing.push({ sandbox, hold });
        else if (entry.hold.note?.vouched !== undefined) vouched.push({ sandbox, entry });
      }
    }
    while (missing.length > 0 && !signal.aborted) {
      const works = missing.splice(0, atOnce).map(({ sandbox, hold }) => this.#one(sandbox, hold, round));
      const failure = (await Promise.allSettled(works)).find((each) => each.status === "rejected");
      if (failure !== undefined) throw failure.reason;
    }
    for (const { sandbox, entry } of vouched) await this.#vouchAgain(sandbox, entry, signal);
    signal.throwIfAborted();
  }

  async #vouchAgain(sandbox: KnownSandbox, { namespace, hold }: RecordedHold, signal: AbortSignal): Promise<void> {
    const { domain, address, owner, version, note } = hold;
    if (this.#options.sandboxes.get(sandbox) !== sandbox) return;
    const change = { domain, address, owner: ownerKey(owner), version, note: { ...note, vouched: this.#vouch() } };
    try {
      const outcome = await this.#options.ledgers.shared(namespace).amend(change, { signal });
      if (outcome.outcome === "amended") this.#learn(namespace, outcome.hold);
    } catch (error) {
      const words = "a hold that this node vouches for could not be renewed: its address may be given to another";
      this.#say(error, words, sandbox, { domain, address: String(address) });
    }
  }

  /** Throws an error that may pass in a moment; tells an operator of a final refusal, and the round goes on. */
  #say(error: unknown, words: string, sandbox: KnownSandbox, where: Pick<HoldPlace, "domain" | "address">): void {
    if (isPassing(error)) throw error;
    const { address, domain } = where;
    const { containerId } = sandbox;
    this.#options.log.error(words, { address, domain, pod: describePod(sandbox), containerId, error });
  }

  #vouch(): string {
    const { vouchMs, now } = this.#options;
    return `${Math.ceil(vouchMs() / 1000)} ${new Date(now()).toISOString()}`;
  }

  async #one(sandbox: KnownSandbox, hold: SandboxHold, round: Round): Promise<void> {
    const { afterRestore, signal } = round;
    const { facts, sandboxes } = this.#options;
    try {
      const found = await facts.hold(hold, signal);
      if (found !== undefined) return await this.#met(sandbox, hold, found, round);
      const asked = this.#isAlive(sandbox, hold, signal);
      const isAlive = await (afterRestore ? asked.catch(() => false) : asked);
      const isWanted = afterRestore || isAlive;
      if (!isWanted) this.#options.held.delete(hold); // the leader has freed it
      if (!isWanted || sandboxes.get(sandbox) !== sandbox) return;
      const note = isAlive || hold.owner.kind !== "pod" ? hold.note : { ...hold.note, vouched: this.#vouch() };
      await this.#make(sandbox, { ...hold, ...(note && { note }) }, round);
    } catch (error) {
      const words = "a hold that the API server has lost could not be made again: its address may be given to another";
      this.#say(error, words, sandbox, hold);
    }
  }

  /** A container of podman and a pod of the kubelet's own need not be known to the server. */
  async #isAlive({ pod }: KnownSandbox, { owner }: SandboxHold, signal: AbortSignal): Promise<boolean> {
    const { facts, isClaimGone } = this.#options;
    if (owner.kind === "claim" && (await isClaimGone(owner, signal))) return false;
    if (isOffServer(pod) || mayLackMirror(undefined, pod)) return true;
    return (await facts.pod(pod, signal)) === "alive";
  }

  async #make(sandbox: KnownSandbox, lost: SandboxHold, round: Round): Promise<void> {
    const { signal } = round;
    const { ledgers, sandboxes, cooldownMs, log, onMade } = this.#options;
    const { namespace, domain, owner, note, users } = lost;
    const address = parseAddress(lost.address);
    const ledger = ledgers.shared(namespace);
    const kept = { loose: note?.pool === undefined, ...(note && { note }), ...(users && { users }) };
    // The address is in use, whatever cools there.
    const outcome = await ledger.take({ domain, address, owner, early: true, asIs: true, ...kept }, { signal });
    if (outcome.outcome === "held") return this.#met(sandbox, lost, outcome.hold, round);
    if (outcome.outcome !== "taken") return;
    if (sandboxes.get(sandbox) !== sandbox) {
      // Its DEL came meanwhile, and found nothing to free.
      const { version } = outcome.hold;
      await ledger.release({ domain, address, owner: ownerKey(owner), version, cooldownMs }, { signal });
      return;
    }
    this.#conflicts.delete(conflictKey(sandbox, lost));
    this.#learn(namespace, outcome.hold);
    onMade();
    const { containerId } = sandbox;
    const what = { address: lost.address, domain, owner: describeOwner(owner), containerId };
    log.warn("a hold that the API server had lost was made again", what);
    this.#made.set(conflictKey(sandbox, lost), { sandbox, hold: lost });
    await this.#askSlices(sandbox, lost, signal);
  }

  async #askSlices(sandbox: KnownSandbox, hold: SandboxHold, signal: AbortSignal): Promise<void> {
    try {
      const found = await this.#options.inSlice(hold, signal);
      if (found !== undefined && !sameOwner(hold.owner, found.owner)) await this.#alarm(sandbox, hold, found, signal);
    } catch (error) {
      const words = "a hold was made again; whether a slice has given its address meanwhile could not be read or told";
      this.#say(error, words, sandbox, hold);
    }
  }

  async #met(sandbox: KnownSandbox, lost: SandboxHold, found: Hold, round: Round): Promise<void> {
    const { afterRestore, signal } = round;
    const { ledgers, sandboxes } = this.#options;
    const { namespace, owner, note } = lost;
    const isOurs = sameOwner(owner, found.owner) || succeeds(owner, found.owner);
    // The copy has an earlier, ended sandbox of this node. Without a restore it is a later one, whose ADD still runs.
    const isOld = afterRestore && owner.kind === "pod" && (isOurs || this.#isOver(lost, found, round));
    if (isOld && !sameContainer(owner, found.owner) && sandboxes.get(sandbox) === sandbox) {
      const { domain, address, version } = found;
      const change = { domain, address, owner: ownerKey(found.owner), version, to: owner, ...(note && { note }) };
      const outcome = await ledgers.shared(namespace).amend(change, { signal });
      if (outcome.outcome === "amended") return this.#learn(namespace, outcome.hold);
    }
    if (isOurs) {
      this.#conflicts.delete(conflictKey(sandbox, lost));
      return this.#learn(namespace, found);
    }
    const isPassedOn =
      found.users?.some(({ uid }) => uid === sandbox.pod.uid) === true ||
      (note?.identity !== undefined && note.identity === found.note?.identity);
    if (isPassedOn) this.#conflicts.delete(conflictKey(sandbox, lost));
    else await this.#alarm(sandbox, lost, found, signal);
  }

  /** This node's daemon wrote it, for a sandbox that is over. */
  #isOver(place: HoldPlace, found: Hold, { listed }: Round): boolean {
    const attachment = attachmentOf(found);
    const isListed = listed.some((each) => isAt(each, place) && each.hold.version === found.version);
    return isListed && attachment !== undefined && this.#options.sandboxes.get(attachment) === undefined;
  }

  #learn(namespace: string, hold: Hold): void {
    const picture = this.#options.poolResolver.find(namespace, hold.domain);
    if (hold.owner.kind === "claim") return picture?.met(hold);
    this.#options.held.put({ namespace, hold });
    picture?.took(hold);
  }

  async #alarm(sandbox: KnownSandbox, lost: SandboxHold, found: Hold, signal: AbortSignal): Promise<void> {
    const { client, node, tell, log } = this.#options;
    const { containerId, interfaceName, pod } = sandbox;
    const key = conflictKey(sandbox, lost);
    const isNew = this.#conflicts.get(key) !== sandbox;
    this.#conflicts.set(key, sandbox);
    const other = describeOwner(found.owner);
    const words =
      `${lost.address} of ${interfaceName} is held by ${other}: the API server had lost this pod's hold, and gave the address again. ` +
      "Two now use it: delete this pod or the other, and it gets another address.";
    const { namespace, name, uid } = pod;
    tell({ apiVersion: "v1", kind: "Pod", metadata: { namespace, name, uid } }, "Warning", "AddressConflict", words);
    if (!isNew) return;
    const twice = "an address is in use twice: the API server had lost a sandbox's hold, and gave its address again";
    const { address, domain } = lost;
    log.error(twice, { address, domain, pod: describePod(sandbox), containerId, heldBy: other });
    const records = recordsOf(lost.domain, lost.namespace);
    // A slice's hold has no record of its own: this pod's has the mark.
    const isInSlice = found.domain !== lost.domain;
    const own = `${describePod(sandbox)} on node ${node}`;
    const user = isInSlice ? `${other} (${describeDomain(found.domain)})` : own;
    const body = { metadata: { annotations: { [usedByAnnotation]: user } } };
    const at = { namespace: lost.namespace, name: records.nameOf(found.address) };
    await client.patch(records.resource, at, { type: "merge", body }, { signal });
  }
}

function describePod({ pod, interfaceName }: KnownSandbox): string {
  return describeOwner({ kind: "pod", ...pod, interface: interfaceName });
}

function conflictKey({ containerId, interfaceName }: KnownSandbox, { address }: SandboxHold): string {
  return `${containerId}/${interfaceName} ${address}`;
}

/** The server's hold: at the remembered place, or moved from there (`holdfast migrate`); undefined: it is lost. */
function ownOf(remembered: SandboxHold, listed: readonly RecordedHold[]): RecordedHold | undefined {
  const isOwn = ({ owner }: Hold) => sameOwner(owner, remembered.owner) && sameContainer(owner, remembered.owner);
  const own = listed.filter(({ hold }) => isOwn(hold));
  return own.find((each) => isAt(each, remembered)) ?? own[0];
}

function isAt(entry: RecordedHold, place: HoldPlace): boolean {
  return placeKey(placeOf(entry)) === placeKey(place);
}

/** The server may accept it in a moment. */
function isPassing(error: unknown): boolean {
  const cause = error instanceof LedgerError ? (error.cause ?? error) : error;
  if (cause instanceof BadObject) return false;
  if (cause instanceof LedgerError) return cause.code === "outcome-unknown";
  return !isApiError(cause, "not-found", "forbidden", "invalid", "bad-request", "too-large", "conflict");
}
