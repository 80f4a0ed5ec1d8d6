// Two VMs of one network must not have the same MAC: neither would be reached. The claims know the MACs of VMs that are stopped, too.
import { allocationReasons, identityOf, macLabelName, ownershipOf } from "../../api/claim-marks.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { ipamClaims, type StoredClaim } from "../../ledger/resources.ts";
import { ClaimRefusal } from "./refusal.ts";
import type { ClaimUse } from "./use.ts";

export class MacCheck {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Throws ClaimRefusal where another claim of the same network comes first with the MAC. Costs nothing where the element names none. */
  async assertFree(use: ClaimUse, signal: AbortSignal): Promise<void> {
    const { mac } = use;
    if (mac === undefined) return;
    const labelSelector = `${macLabelName}=${mac.replaceAll(":", "-")}`;
    // From the server's memory: the claims that count are older than this one, and every start of a VM with a MAC asks.
    const { items } = await this.#client.list(ipamClaims, { labelSelector, resourceVersion: "0", signal });
    const rival = rivalOf(use, items);
    if (rival === undefined) return;
    const { namespace, name } = rival.metadata;
    throw new ClaimRefusal(
      allocationReasons.macConflict,
      `the MAC ${mac} is that of IPAMClaim ${namespace}/${name} on the same network ${rival.spec.network}: give one of the two VMs another, ` +
        "or delete the one that is not needed.",
    );
  }
}

/**
 * One that has addresses keeps it, of two such the older one: a guest that was started with it must not lose it to a claim that was made in the same
 * second, or to one that was refused before its own was made anew. Claims of the same NIC, one after the other, are no rivals.
 */
export function rivalOf(
  { claim, identity }: Pick<ClaimUse, "claim" | "identity">,
  others: readonly StoredClaim[],
): StoredClaim | undefined {
  return others.find(
    (other) =>
      other.metadata.uid !== claim.metadata.uid &&
      other.spec.network === claim.spec.network &&
      (identity === undefined || identityIn(other) !== identity) &&
      isBefore(other, claim),
  );
}

function identityIn(claim: StoredClaim): string | undefined {
  const ownership = ownershipOf(claim);
  return ownership.kind === "owned" ? identityOf(ownership.uid, ownership.nic ?? "") : undefined;
}

/** Times have whole seconds; of two of one second the UID decides, so that exactly one of them comes first. */
function isBefore(a: StoredClaim, b: StoredClaim): boolean {
  const [first, second] = [a, b].map(({ metadata, status }) => {
    const place = (status?.ips ?? []).length > 0 ? "has" : "wants";
    return `${place} ${metadata.creationTimestamp ?? ""} ${metadata.uid ?? ""}`;
  });
  return first! < second!;
}
