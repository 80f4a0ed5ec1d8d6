// The certificates and tokens of a cluster, made before anything runs.
import { join } from "node:path";

import { CertificateAuthority, type KeyPair, makeSigningKey } from "./certificates.ts";
import { administrator, nodeUser, type TokenHolder, writeTokenFile } from "./credentials.ts";

/** The first address of the service network: what pods know as kubernetes.default.svc. */
export const apiServiceAddress = "10.96.0.1";

export interface Identities {
  readonly authority: CertificateAuthority;
  /** The API server's own. */
  readonly serving: KeyPair;
  /** What the API server shows to kubelets. */
  readonly kubeletClient: KeyPair;
  readonly signingKey: string;
  readonly tokenFile: string;
  readonly admin: TokenHolder;
  readonly controllerManager: TokenHolder;
  readonly scheduler: TokenHolder;
  /** Key: node name. */
  readonly nodes: ReadonlyMap<string, TokenHolder>;
}

export async function makeIdentities(
  folder: string,
  apiAddress: string,
  nodeNames: readonly string[],
): Promise<Identities> {
  const signingKey = join(folder, "sa.key");
  const [authority] = await Promise.all([CertificateAuthority.make(folder), makeSigningKey(signingKey)]);
  const names = [
    ...["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"].map((name) => `DNS:${name}`),
    ...new Set(["127.0.0.1", apiAddress, apiServiceAddress].map((address) => `IP:${address}`)),
  ];
  const [serving, kubeletClient] = await Promise.all([
    authority.sign("apiserver", { commonName: "kube-apiserver", names }),
    authority.sign("kubelet-client", { commonName: "kube-apiserver", organization: "system:masters" }),
  ]);
  const tokenFile = join(folder, "tokens");
  const admin = administrator("admin");
  // Its controllers would each need a service account otherwise; what is tested here is not the controller manager.
  const controllerManager = administrator("system:kube-controller-manager");
  const scheduler = { ...administrator("system:kube-scheduler"), groups: [] };
  const nodes = new Map(nodeNames.map((name) => [name, nodeUser(name)]));
  writeTokenFile(tokenFile, [admin, controllerManager, scheduler, ...nodes.values()]);
  return { authority, serving, kubeletClient, signingKey, tokenFile, admin, controllerManager, scheduler, nodes };
}
