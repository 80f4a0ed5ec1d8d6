// Finds the claim that an ADD goes by, and waits for it where it is about to be made.
// Promised: claims and VMIs are read from the API server at every ADD, never from memory: that a claim is gone is what frees its address, and a
// pod that comes later must find none. VMI and claim are read at once where the claim's name is known or can be guessed. The VM is read only
// where there is no claim. Nobody waits longer than `waitMs`.
import { takesPart } from "../../../api/claims/claim-choice.ts";
import { allocationReasons, claimName } from "../../../api/claims/claim-marks.ts";
import { hashedInterfaceName, type VirtualMachineInstance } from "../../../api/claims/kubevirt.ts";
import { ownerUidOf } from "../../../api/claims/vm-owner.ts";
import type { ClaimsState } from "../../../cluster/claims-state.ts";
import { ipamClaims, type StoredClaim, virtualMachineInstances, virtualMachines } from "../../../cluster/resources.ts";
import { CniError, errorCodes } from "../../../cni/error.ts";
import { Recent } from "../../../kube/cache/recent.ts";
import { type Clock, deadline, sleep } from "../../../kube/clock.ts";
import { lookUp } from "../../../kube/look-up.ts";
import type { KubeObject } from "../../../kube/meta.ts";
import type { Resource } from "../../../kube/resource.ts";
import type { KubeClient } from "../../../kube/rest.ts";
import { later } from "../../request/failure.ts";
import { judgeClaims, type Seeker } from "./choose-claim.ts";
import { type ClaimUse, type Sibling, useOf } from "./claim-binding.ts";
import { type ClaimWish, nicFor, requestedFor } from "./claim-query.ts";
import { ClaimRefusal } from "./refusal.ts";

export interface ClaimSearchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly node: string;
  /** What the leader says of persistent addresses. */
  readonly state: () => ClaimsState;
  /** Default: 25 s. The kubelet's own call has minutes, and its next one comes within seconds. */
  readonly waitMs?: number | undefined;
}

const defaultWaitMs = 25_000;
/** The names of networks in VMs' specs: a handful, the same in most of them. */
const nicsMax = 256;
/** A migration has one beside its own; ended ones stay a while. */
const siblingsMax = 4;
/** Two names of the NIC, and a reference. */
const readsMax = 4;
/** While a claim is waited for, also without a word everything is read again so often: what else is waited for (the VMI's owner) is in no watch of it. */
const roundMs = 2000;
/** After a watch that failed or ended: doubled from the first to the last with every round. */
const firstPauseMs = 50;
const longestPauseMs = 1000;

interface Sight {
  readonly seeker: Seeker;
  readonly claims: Map<string, StoredClaim | undefined>;
}

export class ClaimSearch {
  readonly #options: ClaimSearchOptions;
  /** Interface name -> the NIC that had it last. Names with a hash mean the same NIC in every VM, so the guess is right but for the first. */
  readonly #nics = new Recent<string>(nicsMax);

  constructor(options: ClaimSearchOptions) {
    this.#options = options;
  }

  /** `mayWait`: no for who only wants to know (CHECK). Undefined: it goes by no claim. Throws CniError: 101 where the claim is not for this pod, 11 where it may be there later. */
  async find(
    wish: ClaimWish,
    { signal, mayWait }: { readonly signal: AbortSignal; readonly mayWait: boolean },
  ): Promise<ClaimUse | undefined> {
    const { clock, waitMs = defaultWaitMs } = this.#options;
    using limit = deadline(clock, waitMs, signal);
    /** Why it is waited; empty: it is not. */
    let why = "";
    try {
      for (let round = 0; ; round++) {
        const sight = await this.#look(wish, limit.signal);
        const verdict = sight && (await this.#judge(sight, limit.signal));
        if (sight === undefined || verdict === undefined) return undefined;
        if (verdict.kind === "refuse") throw refused(verdict);
        if (verdict.kind === "use") return this.#use(wish, sight, verdict.claim);
        const isExpected = why !== "" || (await this.#isExpected(wish, sight.seeker, limit.signal));
        if (!isExpected || !mayWait) return undefined;
        ({ why } = verdict);
        await this.#untilChanged(sight, verdict.name, round, limit.signal);
        limit.signal.throwIfAborted();
      }
    } catch (error) {
      if (limit.expired && why !== "") throw later(why, error);
      throw error;
    }
  }

  /** Undefined: there is no NIC and no reference to go by. */
  async #look(wish: ClaimWish, signal: AbortSignal): Promise<Sight | undefined> {
    const { pod, reference, launched, persistence } = wish;
    const { namespace } = pod;
    const name = reference ?? this.#guess(wish);
    const [vmi, first] = await Promise.all([
      launched === undefined ? undefined : this.#read(virtualMachineInstances, namespace, launched.name, signal),
      name === undefined ? undefined : this.#read(ipamClaims, namespace, name, signal),
    ]);
    const own = vmi !== undefined && isOf(vmi, launched?.uid ?? "") ? vmi : undefined;
    if (launched !== undefined && own === undefined && reference === undefined) {
      if (!persistence.isAllowed) return undefined;
      throw later(
        `the VirtualMachineInstance of pod ${namespace}/${pod.name}, ${launched.name}, is gone: the pod ends too, or has to be deleted.`,
      );
    }
    const nic = own === undefined ? undefined : nicFor(wish, own);
    if (reference === undefined && nic === undefined) return undefined;
    if (nic !== undefined && hashedInterfaceName(nic) === wish.interfaceName) this.#nics.set(wish.interfaceName, nic);
    const seeker = { namespace, pod: pod.name, reference, network: persistence.network, vmi: own, nic };
    return { seeker, claims: new Map(name === undefined ? [] : [[name, first]]) };
  }

  #guess({ launched, interfaceName }: ClaimWish): string | undefined {
    const nic = this.#nics.get(interfaceName);
    return launched === undefined || nic === undefined ? undefined : claimName(launched.name, nic);
  }

  async #judge({ seeker, claims }: Sight, signal: AbortSignal) {
    for (let reads = 0; ; reads++) {
      const verdict = judgeClaims(seeker, claims);
      if (verdict.kind !== "read") return verdict;
      if (reads === readsMax) throw new Error(`${readsMax} claims were read for pod ${seeker.pod}, and none decides`);
      claims.set(verdict.name, await this.#read(ipamClaims, seeker.namespace, verdict.name, signal));
    }
  }

  /** Where persistence is off, a claim that has addresses is used all the same: they stay with the VM. */
  #mayUse({ persistence, reference }: ClaimWish, { seeker }: Sight, { status }: StoredClaim): boolean {
    if ((status?.ips ?? []).length > 0) return true;
    if (!persistence.isAllowed || reference !== undefined) return persistence.isAllowed;
    return this.#options.state().gate !== "off" && takesPart(undefined, seeker.vmi, false);
  }

  /** Whether somebody makes the claim: whoever wrote the reference, or our leader. */
  async #isExpected(
    { persistence, reference }: ClaimWish,
    { vmi, namespace }: Seeker,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!persistence.isAllowed || reference !== undefined) return persistence.isAllowed;
    const { gate, needsLabel } = this.#options.state();
    // Not told yet: what the definition promises is waited for, or the VM would have another address after its first migration.
    if (gate === "off" || vmi === undefined) return false;
    const isOwned = ownerUidOf(vmi) !== vmi.metadata.uid;
    const vm = isOwned ? await this.#read(virtualMachines, namespace, vmi.metadata.name ?? "", signal) : undefined;
    return takesPart(vm, vmi, needsLabel);
  }

  #use(wish: ClaimWish, sight: Sight, claim: StoredClaim): ClaimUse | undefined {
    if (!this.#mayUse(wish, sight, claim)) return undefined;
    const { pod, selection } = wish;
    const { vmi, nic } = sight.seeker;
    return useOf({
      claim,
      user: { uid: pod.uid, name: pod.name, node: this.#options.node },
      vmiUid: vmi?.metadata.uid,
      siblings: vmi === undefined ? [] : siblingsOf(vmi, pod.uid),
      nic,
      requested: nic === undefined ? [] : requestedFor(nic, wish),
      mac: selection?.mac,
    });
  }

  /** Until the claim is to be read again, by a watch: within milliseconds. Never rejects: the read says what is wrong. */
  async #untilChanged({ seeker, claims }: Sight, name: string, round: number, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const version = claims.get(name)?.metadata.resourceVersion;
    using limit = deadline(clock, roundMs, signal);
    // From "0" on the server tells first what is there; from a version on, what comes after it.
    const fieldSelector = `metadata.name=${name}`;
    const scope = { namespace: seeker.namespace, fieldSelector, resourceVersion: version ?? "0" };
    try {
      for await (const event of client.watch(ipamClaims, { ...scope, signal: limit.signal })) {
        if (event.type === "BOOKMARK") continue;
        if (event.type === "DELETED" && version === undefined) continue;
        if (event.object.metadata.resourceVersion !== version || event.type === "DELETED") return;
      }
    } catch {
      // As when it ended.
    }
    await sleep(clock, Math.min(firstPauseMs * 2 ** round, longestPauseMs), limit.signal);
  }

  #read<T extends KubeObject>(resource: Resource<T>, namespace: string, name: string, signal: AbortSignal) {
    return lookUp(this.#options.client, resource, { namespace, name }, { signal });
  }
}

/** KubeVirt lists every pod of the VMI that is there. */
function siblingsOf({ status }: VirtualMachineInstance, own: string): readonly Sibling[] {
  const { activePods = {}, nodeName } = status ?? {};
  const others = Object.entries(activePods).filter(([uid]) => uid !== own);
  return others
    .map(([uid, node]) => ({ uid, node }))
    .toSorted((a, b) => Number(b.node === nodeName) - Number(a.node === nodeName))
    .slice(0, siblingsMax);
}

/** A namesake of a later life is not the VMI of this pod. */
function isOf({ metadata }: VirtualMachineInstance, uid: string): boolean {
  return uid === "" || metadata.uid === uid;
}

function refused({ why, claim }: { readonly why: string; readonly claim?: StoredClaim }): CniError {
  return claim === undefined
    ? new CniError(errorCodes.refused, why)
    : new ClaimRefusal(allocationReasons.inUse, why, claim);
}
