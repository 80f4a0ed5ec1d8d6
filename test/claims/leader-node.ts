// A daemon as small as the leader's tests need: it goes by a claim as docs/decisions/0014 asks (waits for its owner's
// claim, holds the address for it, lists its pod as a user); a DEL changes nothing. The real one has its own tests.
import { setTimeout as pause } from "node:timers/promises";

import { claimName, claimNicAnnotation, claimOwnerAnnotation, identityOf } from "../../src/api/claims/claim-marks.ts";
import { hashedInterfaceName } from "../../src/api/claims/kubevirt.ts";
import { ipamClaims, pods, type StoredClaim, virtualMachineInstances } from "../../src/cluster/resources.ts";
import type { Hold, HoldUser } from "../../src/ipam/ledger.ts";
import { type ClaimOwner, ownerKey } from "../../src/ipam/owner.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import type { Cni } from "./kubevirt/kubelet.ts";
import type { Port } from "./kubevirt/launcher.ts";

const hosts = 200;

export class PlayedNode implements Cni {
  readonly #client: KubeClient;
  readonly #ledger: ReservationLedger;
  /** `pod interface` -> what was answered: what guests use. */
  readonly given = new Map<string, string>();

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#ledger = new ReservationLedger({ client, namespace, now: Date.now });
  }

  async add(port: Port, signal: AbortSignal): Promise<readonly string[]> {
    while (!signal.aborted) {
      const hold = await this.#tryAdd(port);
      if (hold !== undefined) {
        this.given.set(`${port.pod} ${port.element.interface}`, `${hold.address}`);
        return [`${hold.address}/24`];
      }
      await pause(5);
    }
    throw new Error(`the pod ${port.pod} was told to end`);
  }

  async del({ pod, element }: Port): Promise<void> {
    this.given.delete(`${pod} ${element.interface}`);
  }

  /** An ADD of a pod that refers to a claim made by hand. */
  async hold({ metadata, spec }: StoredClaim, user: HoldUser): Promise<Hold | undefined> {
    const { uid = "", namespace = "", name = "" } = metadata;
    return this.#take(`network:${spec.network}`, { kind: "claim", uid, namespace, name }, user);
  }

  /** Undefined: not yet. */
  async #tryAdd(port: Port): Promise<Hold | undefined> {
    const found = await this.#claimOf(port);
    if (found === undefined) return undefined;
    const { claim, owner, nic } = found;
    const domain = `network:${claim.spec.network}`;
    const user: HoldUser = { uid: port.podUid, name: port.pod, node: port.node };
    const claimOwner: ClaimOwner = {
      kind: "claim",
      uid: claim.metadata.uid ?? "",
      namespace: port.namespace,
      name: claim.metadata.name ?? "",
    };
    const [held] = await this.#ledger.find(domain, ownerKey(claimOwner));
    if (held !== undefined) return this.#join(held, user);
    const identity = identityOf(owner, nic);
    for await (const other of this.#ledger.list(domain)) {
      // That of the claim before: whoever leads passes it on.
      if (other.note?.identity === identity) return undefined;
    }
    return this.#take(domain, claimOwner, user, identity);
  }

  async #take(domain: string, owner: ClaimOwner, user: HoldUser, identity?: string): Promise<Hold | undefined> {
    const note = identity === undefined ? {} : { note: { identity } };
    for (let host = 2; host < hosts; host++) {
      const address = parseAddress(`10.9.0.${host}`);
      const result = await this.#ledger.take({ domain, address, owner, users: [user], ...note });
      if (result.outcome === "taken" || result.outcome === "yours") return result.hold;
    }
    return undefined;
  }

  async #join(held: Hold, user: HoldUser): Promise<Hold | undefined> {
    const users = [...(held.users ?? []).filter(({ uid }) => uid !== user.uid), user];
    const { domain, address, owner, version } = held;
    const result = await this.#ledger.amend({ domain, address, owner: ownerKey(owner), version, users });
    return result.outcome === "amended" ? result.hold : undefined;
  }

  async #claimOf({ namespace, pod, element }: Port) {
    const { metadata } = await this.#client.get(pods, { namespace, name: pod });
    const name = metadata.annotations?.["kubevirt.io/domain"] ?? "";
    const vmi = await this.#client.get(virtualMachineInstances, { namespace, name });
    const nic = vmi.spec?.networks?.find((each) => hashedInterfaceName(each.name) === element.interface)?.name ?? "";
    const owner = vmi.metadata.ownerReferences?.[0]?.uid ?? vmi.metadata.uid ?? "";
    const claim = await this.#get(namespace, claimName(name, nic));
    const { annotations = {} } = claim?.metadata ?? {};
    const isOwn = annotations[claimOwnerAnnotation] === owner && annotations[claimNicAnnotation] === nic;
    return claim === undefined || !isOwn ? undefined : { claim, owner, nic };
  }

  async #get(namespace: string, name: string): Promise<StoredClaim | undefined> {
    return this.#client.get(ipamClaims, { namespace, name }).catch(() => undefined);
  }
}
