// `holdfast up`, put together: the embedded API on a file, served on loopback; on it, in the same process, the
// controller and this machine's daemon; an example network to look at.
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { parseTarget } from "../src/agent/target.ts";
import { definitionOf } from "../src/api/definition.ts";
import { kinds, managedDhcpKinds } from "../src/api/kinds.ts";
import { networkAttachmentDefinitionCrd } from "../src/api/network-attachment-definition.ts";
import { type Api, openApi } from "../src/apiserver/api.ts";
import { serve } from "../src/apiserver/serve/server.ts";
import { DatabaseError } from "../src/apiserver/store/database.ts";
import { definitions, installClaimDefinition } from "../src/claims/crd.ts";
import { UsageError } from "../src/cli/cluster-command.ts";
import { stopSignal } from "../src/cli/connection.ts";
import { announce, announced, defaultFolder, kubeconfigIn, socketIn } from "../src/cli/local/up-folder.ts";
import type { UpOptions } from "../src/cli/local/up.ts";
import type { Output } from "../src/cli/program.ts";
import { namespaces, networkAttachmentDefinitions } from "../src/cluster/resources.ts";
import { asError } from "../src/kube/abort.ts";
import type { KubeObject } from "../src/kube/meta.ts";
import type { Resource } from "../src/kube/resource.ts";
import { KubeClient } from "../src/kube/rest.ts";
import { runLocal } from "./local.ts";

const systemNamespace = "kube-system";
const cooldownMs = 30_000;

export async function up(options: UpOptions, output: Output): Promise<void> {
  const dhcp = targetsOf(options);
  makeFolder(resolve(options.data));
  const kubeconfig = kubeconfigIn(options.data);
  const socket = socketIn(options.data);
  const api = open(options.data);
  try {
    const client = new KubeClient({ transport: api.transport, userAgent: "holdfast up" });
    await makeKinds(client, api);
    if (options.example) await makeExample(client, api);
    const { host, port } = options;
    const served = await serve(api, { host, port, kubeconfigPath: kubeconfig });
    const isAway = announce(options.data, { pid: process.pid, url: served.url });
    for (const line of firstWords(options, kubeconfig, served.url)) output.line(line);
    try {
      const onListen = () => output.line(`Waiting for CNI requests on ${socket}.`);
      const onHealth = (at: number) =>
        output.line(
          `DHCP on ${options.dhcp.join(", ")}; its leases and metrics: http://127.0.0.1:${at}/leases, /metrics.`,
        );
      const { metricsPort } = options;
      await runLocal(
        { client, systemNamespace, socket, state: options.data, cooldownMs, dhcp, metricsPort, onListen, onHealth },
        stopSignal("SIGHUP"),
      );
    } finally {
      output.line("stopping");
      isAway();
      await served.close();
    }
  } finally {
    api.close();
  }
}

function targetsOf({ dhcp }: UpOptions) {
  try {
    return dhcp.map((text) => parseTarget("network", text));
  } catch (error) {
    throw new UsageError(asError(error).message.replace("--network", "--dhcp"), 2, { cause: error });
  }
}

/** One by one: Node's own recursion does not end below /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  try {
    if (dirname(path) !== path) makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new UsageError(`The folder ${path} cannot be made (${code}): give another --data.`, 1, { cause: error });
  }
}

/** What a new user may do next, in another terminal. */
function firstWords({ data, example }: UpOptions, kubeconfig: string, url: string): string[] {
  // The default folder is found by every command that is told no other cluster.
  const elsewhere = data === defaultFolder() ? "" : ` --data ${data}`;
  const cluster = elsewhere === "" ? "" : ` --kubeconfig ${kubeconfig}`;
  return [
    `Holdfast's own Kubernetes API: ${url} (data in ${data})`,
    "",
    ...(example
      ? [
          "In another terminal, give a pod an address, ask whose it is, and end the pod:",
          "",
          `  ./holdfast demo add web${elsewhere}`,
          `  ./holdfast who 10.77.0.2${cluster}`,
          `  ./holdfast demo del web${elsewhere}`,
          "",
        ]
      : []),
    `  export KUBECONFIG=${kubeconfig}    # for kubectl: net-attach-def, ippools, orip`,
    "",
    "The console is not built yet. Ctrl-C stops; what was written stays.",
  ];
}

/** Who has a database of another version is told by its error what reads it. */
const databaseRemedies: Readonly<Record<DatabaseError["code"], string>> = {
  used: " Stop the other `holdfast up`, or give another --data.",
  foreign: " Give another --data.",
  disk: " Give another --data, or the rights to this one.",
  layout: "",
};

function open(folder: string): Api {
  try {
    return openApi({ path: join(folder, "api.sqlite") });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const other = error.code === "used" ? announced(folder) : undefined;
    const who = other === undefined ? "" : ` It is process ${other.pid}, at ${other.url}.`;
    throw new UsageError(`${error.message}${who}${databaseRemedies[error.code]}`, 1, { cause: error });
  }
}

const blue = {
  cniVersion: "1.0.0",
  name: "blue",
  type: "bridge",
  bridge: "blue0",
  ipam: { type: "holdfast", range: "10.77.0.0/24", gateway: "10.77.0.1", exclude: ["10.77.0.240/28"] },
};

/** Applied, so that a second start finds it and changes nothing. */
function applier(client: KubeClient) {
  return <T extends KubeObject>(resource: Resource<T>, object: KubeObject) => {
    const { name, namespace } = object.metadata;
    const at = namespace === undefined ? { name: name! } : { name: name!, namespace };
    return client.patch(resource, at, { type: "apply", body: object, force: true }, { fieldManager: "holdfast-up" });
  };
}

async function makeKinds(client: KubeClient, api: Api): Promise<void> {
  const apply = applier(client);
  for (const crd of [networkAttachmentDefinitionCrd, ...[...kinds, ...managedDhcpKinds].map(definitionOf)]) {
    await apply(definitions, crd as unknown as KubeObject);
  }
  await installClaimDefinition({ client, dryRun: false, signal: new AbortController().signal });
  await apply(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: systemNamespace } });
  await api.settled();
}

async function makeExample(client: KubeClient, api: Api): Promise<void> {
  const apply = applier(client);
  await apply(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "example" } });
  await api.settled();
  await apply(networkAttachmentDefinitions, {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name: "blue", namespace: "example" },
    spec: { config: JSON.stringify(blue, null, 2) },
  } as KubeObject);
}
