// The lab's delegating CNI plugin: chained after the default network, it attaches the networks that the pod asks for.
//
// Promised: networks are attached in the order of the annotation and detached in reverse; a failed ADD detaches what it
// attached; DEL works without the API server, and again; the default network's result is passed on unchanged. Not
// promised: default-route, hot-plug, garbage collection, speed.
import type { Rest } from "../rest.ts";
import { type Attachment, type Definition, toAttachment } from "./configuration.ts";
import { add, check, type CniCall, del } from "./invocation.ts";
import { type Attached, AttachmentRecord } from "./record.ts";
import { networksAnnotation, parseSelections, type Selection } from "./selection.ts";
import { type CniResult, type NetworkStatus, networkStatus, statusAnnotation } from "./status.ts";

/** What the plugin reads on its standard input. */
export interface PluginSettings {
  readonly cniVersion: string;
  /** The default network's name. */
  readonly name: string;
  readonly prevResult?: CniResult;
  readonly kubeconfig: string;
  /** A pod may only name definitions of its own namespace and of these. Undefined: of any. */
  readonly onlyOwnNamespaceAnd?: readonly string[];
}

export interface Sandbox extends CniCall {
  /** The default network's interface, eth0. */
  readonly interface: string;
}

/** As much of the API server as it needs. */
export type Api = Pick<Rest, "get" | "patch">;

interface Pod {
  readonly metadata: { readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
}

export async function addNetworks(
  sandbox: Sandbox,
  settings: PluginSettings,
  rest: Api,
  recordRoot?: string,
): Promise<CniResult> {
  const previous = settings.prevResult;
  if (previous === undefined) throw new Error("lab-networks is a chained plugin: put it behind the default network's");
  const pod = podOf(sandbox.args);
  const path = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}`;
  const { metadata } = await rest.get<Pod>(path);
  if (pod.uid !== undefined && pod.uid !== metadata.uid) {
    throw new Error(`the pod ${pod.namespace}/${pod.name} is another one by now: ${metadata.uid}, not ${pod.uid}`);
  }
  const attachments: Attachment[] = [];
  for (const selection of parseSelections(metadata.annotations?.[networksAnnotation], pod.namespace)) {
    attachments.push(await resolve(selection, pod.namespace, settings, rest));
  }
  const record = new AttachmentRecord(sandbox.containerId, sandbox.interface, recordRoot);
  try {
    const attached = await attachAll(sandbox, attachments, record);
    const statuses: NetworkStatus[] = [
      networkStatus(settings.name, sandbox.interface, previous, true),
      ...attached.map(({ attachment, result }) =>
        networkStatus(attachment.definition, attachment.interface, result ?? {}, false),
      ),
    ];
    const annotations = { [statusAnnotation]: JSON.stringify(statuses, undefined, 2) };
    await rest.patch(`${path}/status`, { metadata: { annotations } });
  } catch (error) {
    // The first failure is the one to tell; what cannot be undone now stays on record for the runtime's own DEL.
    await deleteNetworks(sandbox, recordRoot).catch(() => {});
    throw error;
  }
  return previous;
}

async function resolve(
  selection: Selection,
  podNamespace: string,
  settings: PluginSettings,
  rest: Api,
): Promise<Attachment> {
  const { namespace, name } = selection;
  const allowed = settings.onlyOwnNamespaceAnd;
  if (allowed !== undefined && namespace !== podNamespace && !allowed.includes(namespace)) {
    throw new Error(`a pod of namespace ${podNamespace} may not use the network ${namespace}/${name}`);
  }
  const definition = await rest.get<Definition>(
    `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions/${name}`,
  );
  return toAttachment(definition, selection, settings.cniVersion);
}

async function attachAll(
  call: CniCall,
  attachments: readonly Attachment[],
  record: AttachmentRecord,
): Promise<Attached[]> {
  const attached: Attached[] = [];
  for (const attachment of attachments) {
    record.write([...attached, { attachment }]);
    attached.push({ attachment, result: await add(call, attachment) });
    record.write(attached);
  }
  return attached;
}

/** Last attached, first detached. All are tried; the record is kept for the next try when one failed. */
export async function deleteNetworks(sandbox: Sandbox, recordRoot?: string): Promise<void> {
  const record = new AttachmentRecord(sandbox.containerId, sandbox.interface, recordRoot);
  const left: Attached[] = [];
  const failures: unknown[] = [];
  for (const one of record.read().reverse()) {
    try {
      await del(sandbox, one.attachment, one.result);
    } catch (error) {
      left.unshift(one);
      failures.push(error);
    }
  }
  if (failures.length === 0) return record.remove();
  record.write(left);
  throw failures[0];
}

export async function checkNetworks(sandbox: Sandbox, recordRoot?: string): Promise<void> {
  const record = new AttachmentRecord(sandbox.containerId, sandbox.interface, recordRoot);
  for (const { attachment, result } of record.read()) await check(sandbox, attachment, result);
}

function podOf(args: string): { namespace: string; name: string; uid: string | undefined } {
  const values = new Map(args.split(";").map((pair) => pair.split("=", 2) as [string, string]));
  const [namespace, name] = [values.get("K8S_POD_NAMESPACE"), values.get("K8S_POD_NAME")];
  if (!namespace || !name) throw new Error("CNI_ARGS names no pod: K8S_POD_NAMESPACE and K8S_POD_NAME are missing");
  return { namespace, name, uid: values.get("K8S_POD_UID") };
}
