// Attaches interfaces of pods to networks of OVN, and takes them away: record, annotation, logical port, cable, port of
// the switch, in this order; then OVN has to have taken the port in.
//
// Promised: what is made is on record before it is made, so that the next ADD, DEL or look takes away what one that was
// killed has left; an address is given back only when no port has it any more. Each step can be done twice.
// Not promised: that the network forwards for a VM: its port is written by the reconciler of live migration.
import type { Attachment } from "../../cni/attachments.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { textOf } from "../../cni/json.ts";
import type { CniResult } from "../../cni/result.ts";
import { selectionOf } from "../../cni/selection.ts";
import { deadline } from "../../kube/clock.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { type Mac, tryMac } from "../../net/mac.ts";
import type { DaemonOptions } from "../context.ts";
import type { LoadedConfig } from "../request/configurations.ts";
import { failureOf, later, trimmed } from "../request/failure.ts";
import type { PodFacts } from "../request/pods.ts";
import type { AttachmentFile, OvnRecord } from "./attachment-file.ts";
import { type Cables, hostNetns } from "./cable.ts";
import type { LocalSwitch } from "./local-switch.ts";
import type { LogicalPorts } from "./logical-ports.ts";
import { linkName } from "./names.ts";
import { type AttachPlan, interfaceMarks, linkLines, type LogicalPort, planAttach } from "./plan.ts";
import { annotatePod } from "./pod-annotation.ts";

export interface AttacherOptions extends Pick<DaemonOptions, "clock" | "log" | "node"> {
  readonly client: KubeClient;
  readonly file: AttachmentFile;
  readonly local: LocalSwitch;
  readonly ports: LogicalPorts;
  readonly cables: Cables;
  /** Of interfaces, where the definition names none. */
  readonly mtu: number;
}

export interface AttachOrder {
  readonly invocation: AttachmentInvocation;
  readonly loaded: LoadedConfig;
  /** The request's configuration, as it came. */
  readonly text: string;
  readonly pod: PodFacts;
  readonly result: CniResult;
  /** A VM whose address moves with it. */
  readonly vm?: { readonly mac: Mac | undefined; readonly hasBridge: boolean };
  readonly signal: AbortSignal;
}

/** What was made is not all gone again: the addresses stay until it is. */
export class StillAttached extends CniError {}

const ensureMs = 15_000;
/** OVN-Kubernetes waits as long; ovn-controller takes some ms, on a busy machine some seconds. */
const installedMs = 20_000;
/** Taking away what a failed ADD has made; the rest follows in the background. */
const undoMs = 10_000;
/** The runtime waits for its DEL meanwhile. */
const detachMs = 10_000;
/** Of a configuration beyond it nothing is kept: the release then goes by what this node knows. */
const configMax = 64 * 1024;

export class Attacher {
  readonly #options: AttacherOptions;

  constructor(options: AttacherOptions) {
    this.#options = options;
  }

  has(attachment: Attachment): boolean {
    return this.#options.file.get(attachment) !== undefined;
  }

  /** Throws CniError; StillAttached where something of it is left. */
  async attach(order: AttachOrder): Promise<CniResult> {
    const { file, cables, local, clock } = this.#options;
    const { invocation, loaded, signal } = order;
    const ovn = loaded.network.ovn!;
    const plan = this.#planOf(order);
    const { record } = plan;
    await file.put(record);
    try {
      const network = ovn.topology === "default" ? undefined : ovn.definition;
      await annotatePod(this.#options.client, record.pod, { network, mac: plan.mac, result: order.result }, signal);
      if (plan.port !== undefined) await this.#ensure(plan.port, signal);
      // Of an ADD that was killed, or one whose answer was lost. The switch forgets a cable only with its port.
      await local.remove(record.link, signal);
      await cables.remove(record.link, signal);
      await cables.make(invocation.netns, record.link, linkLines(plan, hostNetns), signal);
      await local.put({ link: record.link, marks: interfaceMarks(plan, ovn) }, signal);
      using limit = deadline(clock, installedMs, signal);
      await local.installed(record.link, limit.signal).catch((error: unknown) => {
        signal.throwIfAborted();
        throw this.#notInstalled(plan, error);
      });
      return plan.result;
    } catch (error) {
      const failure = signal.aborted ? failureOf(signal.reason) : failureOf(error);
      throw (await this.#undo(record)) ? failure : new StillAttached(failure.code, failure.message, { cause: error });
    }
  }

  /** False: something of it could not be taken away, and is on record; the addresses are to stay. */
  async detach(attachment: Attachment, signal: AbortSignal): Promise<boolean> {
    const { file, clock, log } = this.#options;
    const record = file.get(attachment) ?? this.#unrecorded(attachment);
    if (record === undefined) return true;
    try {
      using limit = deadline(clock, detachMs, signal);
      await this.#clear(record, limit.signal);
      await file.forget(record);
      return true;
    } catch (error) {
      const { containerId, interfaceName, port } = record;
      log.warn("an interface is not yet detached from OVN; it follows", { containerId, interfaceName, port, error });
      if (record.isGoing !== true) await file.put({ ...record, isGoing: true });
      return false;
    }
  }

  /** Code 100 with what is not as it was made. */
  async check({ containerId, interfaceName, netns }: AttachmentInvocation, signal: AbortSignal): Promise<void> {
    const { file, local, cables } = this.#options;
    const record = file.get({ containerId, interfaceName });
    const differs = (words: string) =>
      new CniError(
        errorCodes.checkFailed,
        `the interface ${interfaceName} of the container ${containerId} ${words}: delete the pod, so that it is set up anew.`,
      );
    if (record === undefined) throw differs("is not attached to OVN by this node");
    const found = local.find(record.link);
    if (found === undefined) throw differs(`has lost its port ${record.link} of br-int`);
    if (found.marks.get("iface-id") !== record.port) throw differs(`is not the logical port ${record.port} any more`);
    if (found.error !== "") throw differs(`has a port that the switch cannot use (${found.error})`);
    const addresses = await cables.addresses(netns, interfaceName, signal);
    if (addresses === undefined) throw differs("is not in its namespace any more");
    const missing = record.isUnaddressed ? [] : record.addresses.filter((each) => !addresses.includes(each));
    if (missing.length > 0) throw differs(`has lost ${missing.join(" and ")}`);
  }

  #planOf({ invocation, loaded, text, pod, result, vm }: AttachOrder): AttachPlan {
    const { local, node, mtu } = this.#options;
    const { network } = loaded;
    const asked = selectionOf(pod, invocation.interfaceName)?.mac ?? textOf(network.runtimeConfig["mac"]);
    const mac = vm?.mac ?? tryMac(asked);
    if (asked !== "" && mac === undefined)
      throw new CniError(
        errorCodes.badConfiguration,
        `${JSON.stringify(asked)} is asked for as a MAC, and is none: correct the pod's annotation.`,
      );
    return planAttach({
      invocation,
      ovn: network.ovn!,
      network: network.name,
      pod,
      node,
      chassis: local.chassis,
      mac,
      result,
      mtu,
      isUnaddressed: vm?.hasBridge === true,
      isVms: vm !== undefined,
      config: text.length > configMax ? "" : text,
    });
  }

  async #undo(record: OvnRecord): Promise<boolean> {
    const { clock, log, file } = this.#options;
    using limit = deadline(clock, undoMs);
    try {
      await this.#clear(record, limit.signal);
      await file.forget(record);
      return true;
    } catch (error) {
      log.warn("a failed ADD left something in OVN; it is taken away soon", { port: record.port, error });
      await file.put({ ...record, isGoing: true }).catch(() => {});
      return false;
    }
  }

  /** The guest's traffic ends first; the address is free when the last of it is gone. */
  async #clear({ link, port, pod, isVms }: OvnRecord, signal: AbortSignal): Promise<void> {
    const { local, cables, ports, file } = this.#options;
    await local.remove(link, signal);
    await cables.remove(link, signal);
    // The pod's next sandbox has the port already; its cable took the old one's place.
    const isNexts = file.all().some((each) => each.port === port && each.pod.uid === pod.uid && each.link !== link);
    if (!isVms && !isNexts) await ports.remove({ name: port, podUid: pod.uid }, signal);
  }

  /** The state folder was lost: the switch says what there is. */
  #unrecorded(attachment: Attachment): OvnRecord | undefined {
    const link = linkName(attachment);
    const found = this.#options.local.find(link);
    if (found === undefined) return undefined;
    const { containerId, interfaceName } = attachment;
    const mark = (key: string) => found.marks.get(key) ?? "";
    return {
      containerId,
      interfaceName,
      netns: "",
      link,
      port: mark("iface-id"),
      switch: "",
      pod: { namespace: "", name: "", uid: mark("iface-id-ver") },
      network: mark("k8s.ovn.org/network"),
      definition: mark("k8s.ovn.org/nad"),
      mac: mark("attached_mac") as Mac,
      addresses: [],
      isUnaddressed: false,
      isVms: false,
      config: "",
    };
  }

  /** A northbound that is away is said in a sentence, before the runtime's patience ends. */
  async #ensure(port: LogicalPort, signal: AbortSignal): Promise<void> {
    const { ports, clock } = this.#options;
    using limit = deadline(clock, ensureMs, signal);
    try {
      await ports.ensure(port, limit.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!limit.signal.aborted) throw error;
      throw later(
        `OVN's northbound database has not taken the port ${port.name} within ${ensureMs / 1000} s (${trimmed(error)}): look whether it is reached (--ovn-northbound).`,
        error,
      );
    }
  }

  #notInstalled({ record: { link, port }, port: own }: AttachPlan, error: unknown): CniError {
    const found = this.#options.local.find(link);
    const said = found?.error === undefined || found.error === "" ? trimmed(error) : found.error;
    const whose =
      own === undefined
        ? `its logical port ${port} is written by the controller: look whether one leads and writes OVN`
        : "look at ovn-controller of this node";
    return later(
      `OVN has not taken in the port ${link} (${port}) within ${installedMs / 1000} s (${said}): ${whose}.`,
      error,
    );
  }
}
