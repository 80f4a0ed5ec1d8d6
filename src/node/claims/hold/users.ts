// Who is at an address of a claim: counted from the pods themselves, as the API server has them now. A dead node sends
// no DEL, and the list on the hold is of all pods that ever came and have not been seen to end.
import { launchedBy } from "../../../api/claims/launcher-pod.ts";
import { hasEnded, pods } from "../../../cluster/resources.ts";
import type { HoldUser } from "../../../ipam/ledger.ts";
import type { KubeClient } from "../../../kube/rest.ts";
import type { ClaimUse } from "../resolve/claim-binding.ts";

/** A user that lives, or may live. */
export interface LiveUser {
  readonly user: HoldUser;
  /** Of a launcher; undefined: the pod is none, or cannot be read. */
  readonly vmiUid: string | undefined;
}

/** The users of a list that live, as the API server says. */
export type Count = (users: readonly HoldUser[], signal: AbortSignal) => Promise<readonly LiveUser[]>;

/** A migration has two; otherwise an owner has one at a time. */
const ofOneOwner = 2;

/** Whether the pod may join the users. At a claim without an owner only launchers of one VMI are two. */
export function hasRoom(use: Pick<ClaimUse, "identity" | "vmiUid">, others: readonly LiveUser[]): boolean {
  if (others.length === 0) return true;
  if (others.length >= ofOneOwner) return false;
  const isOneVmi = use.vmiUid !== undefined && others.every(({ vmiUid }) => vmiUid === use.vmiUid);
  return use.identity !== undefined || isOneVmi;
}

/** The leader takes out ended users: so many mean that there is no leader, and a VM that crashes all the time. */
const usersMax = 200;
const readsAtOnce = 8;

/**
 * Of one ADD: every pod is read once. `likely`: the name of a probable user, read at once, beside the list itself. That
 * counts only where it shows the very pod of the list; a pod that was not found may have come since.
 */
export function userReader(client: KubeClient) {
  return (namespace: string, likely?: { readonly name: string; readonly signal: AbortSignal }): Count => {
    const podNamed = (name: string, signal: AbortSignal) => client.lookUp(pods, { namespace, name }, { signal });
    const known = new Map<string, Promise<LiveUser | undefined>>();
    const early = likely && podNamed(likely.name, likely.signal).catch(() => undefined);
    const read = async (user: HoldUser, signal: AbortSignal) => {
      // Nobody can be asked about it: it counts.
      if (user.uid === "" || user.name === "") return { user, vmiUid: undefined };
      const guess = likely?.name === user.name ? await early : undefined;
      const pod = guess?.metadata.uid === user.uid ? guess : await podNamed(user.name, signal);
      // One that is over stays so.
      const isLive = pod?.metadata.uid === user.uid && !hasEnded(pod);
      return isLive ? { user, vmiUid: launchedBy(pod.metadata)?.uid || undefined } : undefined;
    };
    return async (users, signal) => {
      if (users.length > usersMax) return users.map((user) => ({ user, vmiUid: undefined }));
      const live: LiveUser[] = [];
      for (let at = 0; at < users.length; at += readsAtOnce) {
        const some = users.slice(at, at + readsAtOnce).map((user) => {
          const reading = known.get(user.uid) ?? read(user, signal);
          known.set(user.uid, reading);
          return reading;
        });
        live.push(...(await Promise.all(some)).filter((each) => each !== undefined));
      }
      return live;
    };
  };
}
