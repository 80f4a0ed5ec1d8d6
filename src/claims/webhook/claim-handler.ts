// The answer to a create, change or delete of a claim: reads what the rules need. Promised: our controller, garbage
// collection and the end of namespaces never wait for a look at the cluster. A failed read ends the answer with an
// error, and the API server goes on without us.
import { familyKeysOf } from "../../api/claims/claim-family.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import { textOf } from "../../cni/json.ts";
import type { AdmissionReply, AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { AdmissionHandler } from "../../kube/admission/admission.ts";
import { isTrusted } from "../../kube/admission/requester.ts";
import { type AnyObject, parseKey } from "../../kube/meta.ts";
import {
  judgeCreation,
  type KnownNetwork,
  saysRestored,
  asksToDelete,
  isFreeToGo,
  judgeDeletion,
  asksToOverride,
  judgeUpdate,
} from "./claim-rules.ts";
import type { ClaimsView, DefinitionFacts } from "./view.ts";

export type ClaimHandlerView = Pick<
  ClaimsView,
  "vm" | "vmi" | "namespace" | "countClaims" | "definitions" | "freshDefinitions" | "mayOverride"
>;

export function claimHandler(view: ClaimHandlerView, self: () => string): AdmissionHandler {
  return async (request, { signal }) => {
    if (request.subResource !== undefined) return { allowed: true };
    const { namespace = "" } = request;
    const question = { view, request, namespace, signal };
    const trusted = isTrusted(request, self());
    const before = claimIn(request.oldObject);
    const after = claimIn(request.object);
    if (request.operation === "UPDATE" && before !== undefined && after !== undefined) {
      const isOverridden =
        !trusted && asksToOverride(before, after) && (await view.mayOverride(request, namespace, signal));
      return judgeUpdate({ before, after, isTrusted: trusted, isOverridden });
    }
    if (trusted) return { allowed: true };
    if (request.operation === "CREATE" && after !== undefined) return created(question, after);
    if (request.operation === "DELETE" && before !== undefined) return deleted(question, before);
    return { allowed: true };
  };
}

interface Question {
  readonly view: ClaimHandlerView;
  readonly request: AdmissionRequest;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

async function created({ view, request, namespace, signal }: Question, claim: StoredClaim): Promise<AdmissionReply> {
  const [{ limit }, networks] = await Promise.all([
    view.namespace(namespace, signal),
    networksFor(view, claim.spec.network, signal),
  ]);
  const count = limit === undefined ? 0 : await view.countClaims(namespace, signal);
  const asks = asksToOverride(undefined, claim) || saysRestored(claim);
  const isOverridden = asks && (await view.mayOverride(request, namespace, signal));
  return judgeCreation({ claim, namespace, networks, limit, count, isOverridden });
}

/** From the cache where it has the network; else from the server, which may have it since a moment ago. */
async function networksFor(view: ClaimHandlerView, network: string, signal: AbortSignal) {
  const known = knownNetworks(view.definitions());
  if (known?.some((each) => each.network === network) === true) return known;
  return knownNetworks(await view.freshDefinitions(signal));
}

function knownNetworks(definitions: readonly DefinitionFacts[] | undefined): readonly KnownNetwork[] | undefined {
  return definitions?.map(({ namespace, name, persistence }) => ({ namespace, name, network: persistence.network }));
}

async function deleted({ view, request, namespace, signal }: Question, claim: StoredClaim): Promise<AdmissionReply> {
  if (isFreeToGo(claim)) return { allowed: true };
  const names = familyKeysOf(claim).map((key) => parseKey(key).name);
  const machineOf = async (name: string) => ({
    vm: await view.vm(namespace, name, signal),
    vmi: await view.vmi(namespace, name, signal),
  });
  const [{ isTerminating }, ...machines] = await Promise.all([
    view.namespace(namespace, signal),
    ...names.map(machineOf),
  ]);
  const isOverridden = asksToDelete(claim) && (await view.mayOverride(request, namespace, signal));
  return judgeDeletion({ claim, isTerminating, machines, isOverridden });
}

/** The server checks claims by whichever definition it has: a spec may be missing, or hold what we do not expect. */
function claimIn(object: AnyObject | undefined): StoredClaim | undefined {
  if (object === undefined) return undefined;
  const { network, interface: interfaceName } = (object["spec"] ?? {}) as Record<string, unknown>;
  return { ...object, spec: { network: textOf(network), interface: textOf(interfaceName) } };
}
