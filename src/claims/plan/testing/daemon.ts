// Plays the node daemon: an ADD by a claim (docs/decisions/0014). It yields before every read and write: anything may
// come between, or it may die there.
import { claimName, identityOf, ownershipOf, swappedClaimName } from "../../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import type { Hold, HoldUser } from "../../../ipam/ledger.ts";
import { type ClaimOwner, ownerKey } from "../../../ipam/owner.ts";
import { parseAddress } from "../../../net/address.ts";
import { type ModelCluster, namespace } from "./cluster.ts";
import type { ModelPod, ModelVmi, PodNic } from "./objects.ts";

const poolSize = 12;

/** True at the end: the pod has the address. */
export async function* add(cluster: ModelCluster, pod: ModelPod, nic: PodNic): AsyncGenerator<undefined, boolean> {
  yield;
  const vmi = cluster.vmis.byUid(pod.vmiUid);
  if (vmi === undefined) return false;
  const ownerUid = vmi.metadata.ownerReferences?.[0]?.uid ?? vmi.metadata.uid!;
  const found = cluster.definitions.get(nic.definition);
  if (found === undefined || typeof found === "string") return false;
  yield;
  const claim = claimOf(cluster, vmi, nic, found.network, ownerUid);
  if (claim === undefined) return false;
  const identity = identityOf(ownerUid, nic.nic);
  const owner: ClaimOwner = { kind: "claim", uid: claim.metadata.uid!, namespace, name: claim.metadata.name! };
  yield;
  // Looked for and taken in one go: two first ADDs of one claim at once are the daemons' to settle, and their tests'.
  const held = await holdOf(
    cluster,
    found.network,
    owner,
    claim.metadata.annotations?.["holdfast.io/continues"],
    identity,
  );
  const user = { uid: pod.metadata.uid!, name: pod.metadata.name!, node: pod.node };
  const hold = held ?? (await take(cluster, found.network, owner, identity, user));
  if (hold === undefined) return false;
  yield;
  if (!(await use(cluster, hold, user))) return false;
  yield;
  attach(cluster, pod, nic, hold, found.network);
  return true;
}

function claimOf(
  cluster: ModelCluster,
  vmi: ModelVmi,
  { nic }: PodNic,
  network: string,
  ownerUid: string,
): StoredClaim | undefined {
  const { name = "" } = vmi.metadata;
  const names = [claimName(name, nic), swappedClaimName(name, nic, network)];
  return names
    .flatMap((each) => cluster.claims.get(each) ?? [])
    .find((claim) => {
      const ownership = ownershipOf(claim);
      return (
        ownership.kind === "owned" &&
        ownership.uid === ownerUid &&
        ownership.nic === nic &&
        claim.spec.network === network
      );
    });
}

/** What the claim has, or what the one that it continues had: passed on. */
async function holdOf(
  { ledger }: ModelCluster,
  domain: string,
  owner: ClaimOwner,
  continues: string | undefined,
  identity: string,
): Promise<Hold | undefined> {
  const own = await ledger.find(domain, ownerKey(owner));
  if (own[0] !== undefined || continues === undefined) return own[0];
  const [before] = await ledger.find(domain, ownerKey({ ...owner, uid: continues }));
  if (before === undefined) return undefined;
  const { address, version, note } = before;
  const answer = await ledger.amend({
    domain,
    address,
    owner: ownerKey(before.owner),
    version,
    to: owner,
    note: { ...note, identity },
  });
  return answer.outcome === "amended" ? answer.hold : undefined;
}

async function take(
  { ledger }: ModelCluster,
  domain: string,
  owner: ClaimOwner,
  identity: string,
  user: HoldUser,
): Promise<Hold | undefined> {
  for (let host = 1; host <= poolSize; host++) {
    const address = parseAddress(`10.${domain.startsWith("blue") ? 1 : 2}.0.${host}`);
    const answer = await ledger.take({ domain, address, owner, note: { pool: domain, identity }, users: [user] });
    if (answer.outcome === "taken" || answer.outcome === "yours") return answer.hold;
  }
  return undefined;
}

/** The users are counted by pods that live: two at most. */
async function use({ ledger, pods }: ModelCluster, hold: Hold, user: HoldUser): Promise<boolean> {
  const users = hold.users ?? [];
  if (users.some(({ uid }) => uid === user.uid)) return true;
  const others = users.filter(({ uid }) => pods.byUid(uid)?.isOver === false);
  if (others.length >= 2) return false;
  const { domain, address, owner, version } = hold;
  const request = { domain, address, owner: ownerKey(owner), version, users: [...users, user] };
  return (await ledger.amend(request)).outcome === "amended";
}

/** The commit was before; from here on the guest has it. */
function attach(cluster: ModelCluster, pod: ModelPod, nic: PodNic, hold: Hold, network: string): void {
  const { uid = "", name = "" } = pod.metadata;
  const guest = cluster.guests.get(pod.vmiUid) ?? "";
  const address = hold.address.toString();
  cluster.sandboxes = [
    ...cluster.sandboxes.filter((each) => each.podUid !== uid || each.nic !== nic.nic),
    { pod: name, podUid: uid, node: pod.node, guest, nic: nic.nic, network, address },
  ];
  cluster.pods.update(pod, (now) => {
    const status = [...now.status.filter((each) => each.nic !== nic.nic), nic];
    const isDone = (now.initial ?? []).every((each) => status.some((one) => one.nic === each.nic));
    const hasStatus = now.hasStatus === true || isDone;
    return { ...now, status, hasStatus };
  });
}
