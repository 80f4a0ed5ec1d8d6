// Clients with exactly the rights they are given: a service account, a role with the rules, a token, a kubeconfig.
import { join } from "node:path";

import { writeKubeconfig } from "./credentials.ts";
import { type Access, type Rest, RestError } from "./rest.ts";

/** A rule of RBAC, as in a ClusterRole. */
interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

export interface ClientPlan {
  /** Names the service account, its role and its kubeconfig; unique in the cluster. */
  readonly name: string;
  /** Where the service account lives; made when it is not there. */
  readonly namespace?: string;
  readonly rules: readonly PolicyRule[];
  /** The rules hold in this namespace only; in the whole cluster otherwise. */
  readonly within?: string;
}

export interface LabClient extends Access {
  /** A file, mode 0600. */
  readonly kubeconfig: string;
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";

export async function makeClient(
  admin: Rest,
  server: Omit<Access, "token">,
  folder: string,
  plan: ClientPlan,
): Promise<LabClient> {
  const { name, namespace = "default", rules, within } = plan;
  for (const each of new Set([namespace, ...(within === undefined ? [] : [within])]))
    await ensureNamespace(admin, each);
  await createOnce(admin, `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  const kind = within === undefined ? "ClusterRole" : "Role";
  const base = within === undefined ? rbac : `${rbac}/namespaces/${within}`;
  await admin.create(`${base}/${kind.toLowerCase()}s`, { metadata: { name }, rules });
  await admin.create(`${base}/${kind.toLowerCase()}bindings`, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  });
  const { status } = await admin.create<{ status: { token: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 6 * 3600 } },
  );
  const access = { ...server, token: status.token };
  return { ...access, kubeconfig: writeKubeconfig(join(folder, `client-${name}.kubeconfig`), access, namespace) };
}

function ensureNamespace(admin: Rest, name: string): Promise<void> {
  return createOnce(admin, "/api/v1/namespaces", { metadata: { name } });
}

async function createOnce(admin: Rest, path: string, body: unknown): Promise<void> {
  try {
    await admin.create(path, body);
  } catch (error) {
    if (!(error instanceof RestError && error.code === 409)) throw error;
  }
}
