// Carries out the steps of a plan, one after the other. Promised: every write is guarded by what was judged (UID,
// resourceVersion, hold version); what cannot be undone is first planned again from the server; a failed step stops no
// other; done twice, a step does nothing. Not promised: that all is done; what is left throws and is planned again.
import { claimFinalizer, isManagedClaim } from "../../api/claims/claim-marks.ts";
import { ipamClaims, type StoredClaim } from "../../cluster/resources.ts";
import type { AmendRequest } from "../../ipam/ledger.ts";
import { ownerKey } from "../../ipam/owner.ts";
import { untracked } from "../../kube/cache/managed-fields.ts";
import { Recent } from "../../kube/cache/recent.ts";
import type { Clock } from "../../kube/clock.ts";
import { updateStatus } from "../../kube/conditions.ts";
import { isApiError } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import { removeFinalizer } from "../../kube/finalizer.ts";
import type { ObjectName } from "../../kube/meta.ts";
import { unless } from "../../kube/unless.ts";
import type { ClaimHold } from "../plan/facts.ts";
import { type ClaimStep, confirmed, isFinal, type ClaimEvent } from "../plan/steps.ts";
import type { ClaimsOptions } from "./leader.ts";
import type { StateClient } from "./state-client.ts";
import { ClaimChangedError, takeShown, type TakeOptions } from "./take-shown-addresses.ts";

export interface ActorOptions extends TakeOptions, Pick<ClaimsOptions, "log" | "events"> {
  readonly state: StateClient;
  readonly cooldownOf: (held: ClaimHold) => number;
  /** The plan from what the server says now. */
  readonly planAnew: (family: string, signal: AbortSignal) => Promise<readonly ClaimStep[]>;
  /** A claim that the watch need not show yet. */
  readonly onMade: (family: string, claim: StoredClaim) => void;
  readonly onDone: (family: string, step: ClaimStep) => void;
  readonly onFailed: (step: ClaimStep) => void;
}

/** Steps that change holds: not while handing out is paused. */
const onHolds: ReadonlySet<ClaimStep["kind"]> = new Set(["pass", "users", "release", "take"]);
/** While handing out is paused or whereabouts is active: asked again after. */
const restMs = 5000;

type Step<Kind extends ClaimStep["kind"]> = Extract<ClaimStep, { kind: Kind }>;

export class Actor {
  readonly #options: ActorOptions;
  readonly #tell: ReturnType<typeof eventTeller>;

  constructor(options: ActorOptions) {
    this.#options = options;
    this.#tell = eventTeller(options.events, options.clock);
  }

  /** After how long the family is to be planned again; undefined: when something changes. Throws what failed. */
  async act(family: string, steps: readonly ClaimStep[], signal: AbortSignal): Promise<number | undefined> {
    const said = steps.some(({ kind }) => onHolds.has(kind)) ? await this.#options.state.ask(signal) : undefined;
    const rests = (step: ClaimStep) =>
      onHolds.has(step.kind) && (said?.rests !== "" || (step.kind === "take" && !said.mayTake));
    const due = steps.filter((step) => !rests(step));
    const failures: unknown[] = [];
    const plan = due.some(isFinal) ? await this.#options.planAnew(family, signal) : [];
    for (const step of due) {
      signal.throwIfAborted();
      try {
        const surely = isFinal(step) ? confirmed(step, plan) : step;
        if (surely === undefined) throw new ClaimChangedError(`${step.kind}: the server says otherwise by now.`);
        if (await this.#perform(family, surely, signal)) this.#options.onDone(family, surely);
      } catch (error) {
        this.#options.onFailed(step);
        signal.throwIfAborted();
        failures.push(error);
      }
    }
    // A real error is thrown before one that was only late.
    if (failures.length > 0) throw failures.find((each) => !isStale(each)) ?? failures[0];
    const waits = steps.flatMap((step) => (step.kind === "again" ? [step.afterMs] : []));
    const soonest = Math.min(...waits, due.length < steps.length ? restMs : Infinity);
    return soonest === Infinity ? undefined : soonest;
  }

  /** True if something was changed. */
  async #perform(family: string, step: ClaimStep, signal: AbortSignal): Promise<boolean> {
    switch (step.kind) {
      case "create":
        return this.#create(family, step.claim, signal);
      case "mark":
        return this.#mark(step, signal);
      case "delete":
        return this.#delete(step, signal);
      case "drop-finalizer":
        return this.#dropFinalizer(step, signal);
      case "status":
        return updateStatus(this.#options.client, ipamClaims, step.claim, step.status, { signal });
      case "pass":
        return this.#amend(step.hold, { to: step.to, note: step.note }, signal);
      case "users":
        return this.#amend(step.hold, { users: step.users }, signal);
      case "release":
        return this.#release(step, signal);
      case "take":
        await takeShown(step, this.#options, signal);
        return true;
      case "event":
        this.#tell(family.slice(0, family.indexOf("/")), step);
        return false;
      case "again":
        return false;
    }
  }

  async #create(family: string, claim: StoredClaim, signal: AbortSignal): Promise<boolean> {
    const made = await unless(["already-exists"], this.#options.client.create(ipamClaims, claim, { signal }));
    if (made !== undefined) this.#options.onMade(family, made);
    return made !== undefined;
  }

  async #mark({ claim, metadata }: Step<"mark">, signal: AbortSignal): Promise<boolean> {
    const { uid, resourceVersion } = claim.metadata;
    // managedFields are two thirds of a claim, and a starting leader reads all claims: nobody needs them of ours.
    const lean = isManagedClaim(claim) && { managedFields: untracked };
    const body = { metadata: { ...metadata, ...lean, uid, resourceVersion } };
    await this.#options.client.patch(ipamClaims, nameOf(claim), { type: "merge", body }, { signal });
    return true;
  }

  async #delete({ claim, why }: Step<"delete">, signal: AbortSignal): Promise<boolean> {
    const { uid = "" } = claim.metadata;
    const { client, log } = this.#options;
    const call = client.delete(ipamClaims, nameOf(claim), { preconditions: { uid }, signal }).then(() => true);
    const isDeleted = (await unless(["not-found"], call)) === true;
    if (isDeleted) log.info("deleted a claim", { ...describe(claim), why });
    return isDeleted;
  }

  async #dropFinalizer({ claim, why }: Step<"drop-finalizer">, signal: AbortSignal): Promise<boolean> {
    let isDropped: boolean;
    try {
      isDropped = await removeFinalizer(this.#options.client, ipamClaims, claim, claimFinalizer, { signal });
    } catch (error) {
      // The answer to a JSON patch whose tests fail.
      if (isApiError(error, "invalid"))
        throw new ClaimChangedError("the claim's finalizers have changed.", { cause: error });
      throw error;
    }
    if (isDropped) this.#options.log.info("let go of a claim", { ...describe(claim), why });
    return isDropped;
  }

  async #amend(
    { hold, namespace }: ClaimHold,
    change: Pick<AmendRequest, "to" | "users" | "note">,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { domain, address, owner, version } = hold;
    const request = { domain, address, owner: ownerKey(owner), version, ...change };
    const { outcome } = await this.#options.ledgerOf(namespace).amend(request, { signal });
    if (outcome === "superseded") throw new ClaimChangedError(`the hold of ${address} has changed.`);
    return outcome === "amended";
  }

  async #release({ hold: held, why }: Step<"release">, signal: AbortSignal): Promise<boolean> {
    const { ledgerOf, cooldownOf, log } = this.#options;
    const { domain, address, owner, version } = held.hold;
    const request = { domain, address, owner: ownerKey(owner), version, cooldownMs: cooldownOf(held) };
    const { outcome } = await ledgerOf(held.namespace).release(request, { signal });
    if (outcome === "superseded") throw new ClaimChangedError(`the hold of ${address} has changed.`);
    if (outcome === "released") {
      const claim = `${owner.namespace}/${owner.name}`;
      log.info("freed the address of a claim", { address: address.toString(), claim, why });
    }
    return outcome === "released";
  }
}

/** No failure: another writer was faster, or it is too early. The next look sees it. */
export function isStale(error: unknown): boolean {
  return error instanceof ClaimChangedError || isApiError(error, "conflict", "not-found");
}

function nameOf({ metadata: { namespace = "", name = "" } }: StoredClaim): ObjectName {
  return { namespace, name };
}

function describe({ metadata: { namespace = "", name = "", uid = "" } }: StoredClaim) {
  return { claim: `${namespace}/${name}`, uid };
}

const kinds = {
  vm: { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine" },
  vmi: { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance" },
  claim: { apiVersion: "k8s.cni.cncf.io/v1alpha1", kind: "IPAMClaim" },
  pod: { apiVersion: "v1", kind: "Pod" },
} as const;
/** The server keeps events for an hour. */
const againMs = 3_600_000;
/** About 300 bytes each: 6 MB. A forgotten event is told again. */
const remembered = 20_000;

/** Events of plans: every plan repeats the present state; people are told once, and again after a while. */
export function eventTeller(events: EventRecorder | undefined, clock: Clock) {
  const last = new Recent<number>(remembered);
  return (namespace: string, { on, name, uid, reason, message }: ClaimEvent): void => {
    const key = `${uid} ${reason} ${message}`;
    const nowMs = clock.monotonicMs();
    const lastMs = last.get(key);
    if (lastMs !== undefined && nowMs - lastMs < againMs) return;
    last.set(key, nowMs);
    events?.record({ ...kinds[on], metadata: { namespace, name, uid } }, "Warning", reason, message);
  };
}
