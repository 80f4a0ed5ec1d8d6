// Finds the claim that an ADD goes by, and waits for one that is about to be made. Promised: claims and VMIs are read
// from the API server at every ADD, never from memory: a claim that is gone frees its address, and a later pod must
// find none. VMI and claim are read at once where the claim's name is known or guessed, the VM only where there is no
// claim. Nobody waits longer than `waitMs`.
import { takesPart } from "../../../api/claims/claim-choice.ts";
import { allocationReasons, claimName } from "../../../api/claims/claim-marks.ts";
import { hashedInterfaceName, type VirtualMachineInstance } from "../../../api/claims/kubevirt.ts";
import { ownerUidOf } from "../../../api/claims/vm-owner.ts";
import type { ClaimsState } from "../../../cluster/claims-state.ts";
import { ipamClaims, type StoredClaim, virtualMachineInstances, virtualMachines } from "../../../cluster/resources.ts";
import { CniError, errorCodes } from "../../../cni/error.ts";
import { Recent } from "../../../kube/cache/recent.ts";
import { deadline, sleep } from "../../../kube/clock.ts";
import type { KubeObject } from "../../../kube/meta.ts";
import type { Resource } from "../../../kube/resource.ts";
import type { DaemonOptions } from "../../context.ts";
import { later } from "../../request/failure.ts";
import { judgeClaims, type Seeker } from "./choose-claim.ts";
import { ClaimRefusal, type ClaimUse, type Sibling, useOf } from "./claim-binding.ts";
import { type ClaimWish, nicFor, requestedFor } from "./claim-query.ts";

export interface ClaimSearchOptions extends Pick<DaemonOptions, "client" | "clock" | "node"> {
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
/** While a claim is waited for, everything is read again so often: no watch of it tells of the VMI's owner. */
const roundMs = 2000;
/** After a watch that failed or ended: doubled from the first to the last with every round. */
const firstPauseMs = 50;
const longestPauseMs = 1000;

interface Sight {
  readonly seeker: Seeker;
  readonly claims: Map<string, StoredClaim | undefined>;
}

/** `mayWait`: false for CHECK, which only wants to know. */
interface SearchOptions {
  readonly signal: AbortSignal;
  readonly mayWait: boolean;
}

export function claimSearch({ client, clock, node, state, waitMs = defaultWaitMs }: ClaimSearchOptions) {
  /** Interface name -> the NIC that had it last. A hashed name is the same NIC in every VM: right but for the first. */
  const nics = new Recent<string>(nicsMax);

  const read = <T extends KubeObject>(resource: Resource<T>, namespace: string, name: string, signal: AbortSignal) =>
    client.lookUp(resource, { namespace, name }, { signal });

  const guess = ({ launched, interfaceName }: ClaimWish): string | undefined => {
    const nic = nics.get(interfaceName);
    return launched === undefined || nic === undefined ? undefined : claimName(launched.name, nic);
  };

  /** Undefined: there is no NIC and no reference to go by. */
  async function look(wish: ClaimWish, signal: AbortSignal): Promise<Sight | undefined> {
    const { pod, reference, launched, persistence } = wish;
    const { namespace } = pod;
    const name = reference ?? guess(wish);
    const [vmi, first] = await Promise.all([
      launched === undefined ? undefined : read(virtualMachineInstances, namespace, launched.name, signal),
      name === undefined ? undefined : read(ipamClaims, namespace, name, signal),
    ]);
    // A namesake of a later life is not the VMI of this pod.
    const own = launched?.uid === "" || vmi?.metadata.uid === launched?.uid ? vmi : undefined;
    if (launched !== undefined && own === undefined && reference === undefined) {
      if (!persistence.isAllowed) return undefined;
      const what = `the VirtualMachineInstance of pod ${namespace}/${pod.name}, ${launched.name}, is gone`;
      throw later(`${what}: the pod ends too, or has to be deleted.`);
    }
    const nic = own === undefined ? undefined : nicFor(wish, own);
    if (reference === undefined && nic === undefined) return undefined;
    if (nic !== undefined && hashedInterfaceName(nic) === wish.interfaceName) nics.set(wish.interfaceName, nic);
    const seeker = { namespace, pod: pod.name, reference, network: persistence.network, vmi: own, nic };
    return { seeker, claims: new Map(name === undefined ? [] : [[name, first]]) };
  }

  async function judge({ seeker, claims }: Sight, signal: AbortSignal) {
    for (let reads = 0; ; reads++) {
      const choice = judgeClaims(seeker, claims);
      if (choice.kind !== "read") return choice;
      if (reads === readsMax) throw new Error(`${readsMax} claims were read for pod ${seeker.pod}, and none decides`);
      claims.set(choice.name, await read(ipamClaims, seeker.namespace, choice.name, signal));
    }
  }

  /** Where persistence is off, a claim with addresses is used all the same: they stay with the VM. */
  function mayUse({ persistence, reference }: ClaimWish, { vmi }: Seeker, { status }: StoredClaim): boolean {
    if ((status?.ips ?? []).length > 0) return true;
    if (!persistence.isAllowed || reference !== undefined) return persistence.isAllowed;
    return state().gate !== "off" && takesPart(undefined, vmi, false);
  }

  /** Whether somebody makes the claim: the author of the reference, or our leader. */
  async function isExpected(wish: ClaimWish, { vmi, namespace }: Seeker, signal: AbortSignal): Promise<boolean> {
    const { persistence, reference } = wish;
    if (!persistence.isAllowed || reference !== undefined) return persistence.isAllowed;
    const { gate, needsLabel } = state();
    // Not told yet: the definition's promise is waited for, else the first migration would change the VM's address.
    if (gate === "off" || vmi === undefined) return false;
    const isOwned = ownerUidOf(vmi) !== vmi.metadata.uid;
    const vm = isOwned ? await read(virtualMachines, namespace, vmi.metadata.name ?? "", signal) : undefined;
    return takesPart(vm, vmi, needsLabel);
  }

  function use(wish: ClaimWish, { vmi, nic }: Seeker, claim: StoredClaim): ClaimUse {
    const { pod, selection } = wish;
    return useOf({
      claim,
      user: { uid: pod.uid, name: pod.name, node },
      vmiUid: vmi?.metadata.uid,
      siblings: vmi === undefined ? [] : siblingsOf(vmi, pod.uid),
      nic,
      requested: nic === undefined ? [] : requestedFor(nic, wish),
      mac: selection?.mac,
    });
  }

  /** Waits by a watch until the claim is to be read again: milliseconds. Never rejects: the read says what is wrong. */
  async function untilChanged({ seeker, claims }: Sight, name: string, round: number, signal: AbortSignal) {
    const version = claims.get(name)?.metadata.resourceVersion;
    using limit = deadline(clock, roundMs, signal);
    // From "0" on the server first tells the present state; from a version on, the changes after it.
    const fieldSelector = `metadata.name=${name}`;
    const scope = { namespace: seeker.namespace, fieldSelector, resourceVersion: version ?? "0" };
    try {
      for await (const event of client.watch(ipamClaims, { ...scope, signal: limit.signal })) {
        if (event.type === "BOOKMARK") continue;
        if (event.type === "DELETED" && version === undefined) continue;
        if (event.object.metadata.resourceVersion !== version || event.type === "DELETED") return;
      }
    } catch {
      // As after its end.
    }
    await sleep(clock, Math.min(firstPauseMs * 2 ** round, longestPauseMs), limit.signal);
  }

  /** Undefined: it goes by no claim. Throws CniError: 101 where the claim is not for this pod, 11: later perhaps. */
  return async (wish: ClaimWish, { signal, mayWait }: SearchOptions): Promise<ClaimUse | undefined> => {
    using limit = deadline(clock, waitMs, signal);
    /** Why the ADD waits; empty: it does not. */
    let why = "";
    try {
      for (let round = 0; ; round++) {
        const sight = await look(wish, limit.signal);
        const choice = sight && (await judge(sight, limit.signal));
        if (sight === undefined || choice === undefined) return undefined;
        const { seeker } = sight;
        if (choice.kind === "refuse" && choice.claim === undefined) throw new CniError(errorCodes.refused, choice.why);
        if (choice.kind === "refuse") throw new ClaimRefusal(allocationReasons.inUse, choice.why, choice.claim);
        if (choice.kind === "use")
          return mayUse(wish, seeker, choice.claim) ? use(wish, seeker, choice.claim) : undefined;
        if (why === "" && !(await isExpected(wish, seeker, limit.signal))) return undefined;
        if (!mayWait) return undefined;
        ({ why } = choice);
        await untilChanged(sight, choice.name, round, limit.signal);
        limit.signal.throwIfAborted();
      }
    } catch (error) {
      if (limit.expired && why !== "") throw later(why, error);
      throw error;
    }
  };
}

/** KubeVirt lists every existing pod of the VMI. */
function siblingsOf({ status }: VirtualMachineInstance, own: string): readonly Sibling[] {
  const { activePods = {}, nodeName } = status ?? {};
  const others = Object.entries(activePods).filter(([uid]) => uid !== own);
  return others
    .map(([uid, node]) => ({ uid, node }))
    .toSorted((a, b) => Number(b.node === nodeName) - Number(a.node === nodeName))
    .slice(0, siblingsMax);
}
