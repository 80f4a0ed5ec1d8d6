// Daemons and a controller as processes of their own against an API server of either kind, without nodes: a pod is an
// object of the test, its sandbox a name. For stories with hundreds of pods, where real ones would show nothing more.
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { toldState } from "../../ledger/told-state.ts";
import { Component } from "../component.ts";
import { onTheMachine } from "../place.ts";
import { freePort } from "../port.ts";
import { removeCluster } from "../reaper.ts";
import { StateFile } from "../state.ts";
import { together } from "../wait.ts";
import { apis, type LabApi } from "./api.ts";
import { holdfastCommand } from "./launch.ts";
import { ask, givesAddresses, statusEveryMs, type CniAnswer, type CniRequest } from "./request.ts";

export interface FixtureOptions {
  readonly api: "real" | "embedded";
  /** A process of about 90 MB each. */
  readonly daemons?: number;
  readonly controller?: boolean;
  readonly nodeArgs?: readonly string[];
  readonly controllerArgs?: readonly string[];
}

export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

interface Daemon {
  readonly name: string;
  readonly socket: string;
  readonly metricsPort: number;
  readonly process: Component;
}

export class Fixture {
  readonly api: LabApi;
  readonly daemons: readonly Daemon[];
  readonly controller: Component | undefined;
  readonly #state: StateFile;

  private constructor(api: LabApi, daemons: readonly Daemon[], controller: Component | undefined, state: StateFile) {
    this.api = api;
    this.daemons = daemons;
    this.controller = controller;
    this.#state = state;
  }

  static async start(options: FixtureOptions): Promise<Fixture> {
    const api = await apis[options.api]();
    const state = new StateFile(`world-${randomBytes(4).toString("hex")}`);
    const daemons: Daemon[] = [];
    for (let index = 1; index <= (options.daemons ?? 1); index++) {
      daemons.push(makeDaemon(api, state, `node${index}`, await freePort(), options.nodeArgs ?? []));
    }
    const controller = options.controller ? makeController(api, state, options.controllerArgs ?? []) : undefined;
    const fixture = new Fixture(api, daemons, controller, state);
    try {
      for (const { name } of daemons) await api.rest.create("/api/v1/nodes", { metadata: { name } });
      // `holdfast up`, which serves the embedded one, leads itself.
      const isLed = controller !== undefined || options.api === "embedded";
      if (!isLed) await api.rest.create("/api/v1/namespaces/kube-system/configmaps", toldState());
      await controller?.start();
      await together(daemons.map((daemon) => () => daemon.process.start()));
      return fixture;
    } catch (error) {
      await fixture.stop();
      throw error;
    }
  }

  daemon(name: string): Daemon {
    const found = this.daemons.find((daemon) => daemon.name === name);
    if (found === undefined) throw new Error(`there is no daemon ${name}`);
    return found;
  }

  /** A pod that is bound to the daemon's node and runs nothing. */
  async createPod(
    name: string,
    node: string,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<PodIdentity> {
    const { metadata } = await this.api.rest.create<{ metadata: { uid: string } }>("/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, annotations },
      spec: { nodeName: node, containers: [{ name: "main", image: "none" }] },
    });
    return { namespace: "default", name, uid: metadata.uid };
  }

  /** As the pod's runtime asks: one sandbox per pod, one interface per call. */
  request(
    command: CniRequest["command"],
    node: string,
    pod: PodIdentity,
    config: object,
    more: Partial<CniRequest> = {},
  ): Promise<CniAnswer> {
    const args = `IgnoreUnknown=1;K8S_POD_NAMESPACE=${pod.namespace};K8S_POD_NAME=${pod.name};K8S_POD_UID=${pod.uid}`;
    const usual = { containerId: `sandbox-${pod.uid}`, interface: "net1", netns: "/run/netns/none", args };
    return ask(this.daemon(node).socket, { command, config, ...usual, ...more });
  }

  async metrics(node: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.daemon(node).metricsPort}/metrics`);
    return response.text();
  }

  lastWords(lines = 30): string {
    return [...(this.controller ? [this.controller] : []), ...this.daemons.map(({ process }) => process)]
      .map((each) => `--- ${each.plan.name}\n${each.logTail(lines)}`)
      .join("\n");
  }

  async stop(): Promise<void> {
    await removeCluster(this.#state.state);
    await this.api.stop();
  }
}

function makeDaemon(api: LabApi, state: StateFile, name: string, metricsPort: number, args: readonly string[]): Daemon {
  const folder = join(state.folder, name);
  const socket = join(folder, "run", "cni.sock");
  const command = holdfastCommand(
    "node",
    `--node-name=${name}`,
    `--kubeconfig=${api.nodeKubeconfig}`,
    `--socket=${socket}`,
    `--state=${join(folder, "state")}`,
    `--metrics-port=${metricsPort}`,
    "--metrics-host=127.0.0.1",
    ...args,
  );
  const logFile = join(state.folder, `${name}.log`);
  const isReady = () => givesAddresses(socket);
  const plan = {
    name: `holdfast node ${name}`,
    command,
    place: onTheMachine,
    logFile,
    isReady,
    everyMs: statusEveryMs,
  };
  return { name, socket, metricsPort, process: new Component(plan, state) };
}

function makeController(api: LabApi, state: StateFile, args: readonly string[]): Component {
  const command = holdfastCommand(
    "controller",
    `--kubeconfig=${api.controllerKubeconfig}`,
    "--metrics-port=0",
    ...args,
  );
  const logFile = join(state.folder, "controller.log");
  const isReady = async () => true;
  return new Component({ name: "holdfast controller", command, place: onTheMachine, logFile, isReady }, state);
}
