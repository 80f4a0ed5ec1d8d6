// Service accounts as deploy/ has them, and kubeconfigs for processes that use them outside of a pod.
import { writeKubeconfig } from "../credentials.ts";
import type { Access, Rest } from "../rest.ts";

export interface AccountPlan {
  readonly namespace: string;
  readonly name: string;
  readonly server: Omit<Access, "token">;
  /** Where the kubeconfig is written, mode 0600. */
  readonly file: string;
}

/** Longer than any test; what a pod would get projected, and renewed, is one hour. */
const tokenSeconds = 6 * 3600;

/** The account exists already. Its rights are what the cluster's roles give it, and nothing else. */
export async function kubeconfigOf(admin: Rest, plan: AccountPlan): Promise<string> {
  const { status } = await admin.create<{ status: { token: string } }>(
    `/api/v1/namespaces/${plan.namespace}/serviceaccounts/${plan.name}/token`,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: tokenSeconds } },
  );
  return writeKubeconfig(plan.file, { ...plan.server, token: status.token }, plan.namespace);
}
