// An API server for daemons without nodes, of either kind: the real one with the accounts and rights of deploy/, or the
// embedded one as a person starts it, with `holdfast up`.
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import { definitionOf } from "../../../src/api/definition.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { networkAttachmentDefinitionCrd } from "../../../src/api/network-attachment-definition.ts";
import { type AuditedRequest, AuditLog } from "../audit.ts";
import { Component } from "../component.ts";
import { onTheMachine } from "../place.ts";
import { removeCluster } from "../reaper.ts";
import { Rest } from "../rest.ts";
import { cluster } from "../start.ts";
import { StateFile } from "../state.ts";
import { kubeconfigOf } from "./accounts.ts";
import { holdfastCommand } from "./launch.ts";
import { applyManifests } from "./manifests.ts";

export interface LabApi {
  /** As the administrator. */
  readonly rest: Rest;
  /** The administrator's. */
  readonly kubeconfig: string;
  /** The daemons'. */
  readonly nodeKubeconfig: string;
  readonly controllerKubeconfig: string;
  readonly server: Component;
  /** Everything it was asked so far; only the real one tells. */
  readonly requests?: () => AuditedRequest[];
  stop(): Promise<void>;
}

export const apis: Readonly<Record<"real" | "embedded", () => Promise<LabApi>>> = { real, embedded };

async function real(): Promise<LabApi> {
  const audit = new AuditLog();
  const lab = await cluster({ log: console.error, apiserverArgs: audit.apiserverArgs });
  await applyDefinitions(lab.rest, [networkAttachmentDefinitionCrd]);
  await applyManifests(lab);
  const account = (name: string) => {
    const file = join(lab.folder, `${name}.kubeconfig`);
    return kubeconfigOf(lab.rest, { namespace: "kube-system", name, server: lab.access, file });
  };
  return {
    rest: lab.rest,
    kubeconfig: lab.kubeconfig,
    nodeKubeconfig: await account("holdfast-node"),
    controllerKubeconfig: await account("holdfast-controller"),
    server: lab.apiserver,
    requests: () => audit.requests(),
    stop: async () => {
      await lab.stop();
      audit.remove();
    },
  };
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<"server" | "certificate-authority-data", string>> }];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
}

async function embedded(): Promise<LabApi> {
  const state = new StateFile(`up-${randomBytes(4).toString("hex")}`);
  const kubeconfig = join(state.folder, "data", "kubeconfig");
  const server = new Component(
    {
      name: "holdfast up",
      command: holdfastCommand("up", `--data=${join(state.folder, "data")}`, "--port=0", "--no-example"),
      place: onTheMachine,
      logFile: join(state.folder, "up.log"),
      isReady: async () => existsSync(kubeconfig),
    },
    state,
  );
  await server.start();
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const { server: url, "certificate-authority-data": ca } = clusters[0].cluster;
  const rest = new Rest({ url, ca: Buffer.from(ca, "base64").toString(), token: users[0].user.token });
  await applyDefinitions(rest, [networkAttachmentDefinitionCrd, ...kinds.map(definitionOf)]);
  const stop = async () => {
    rest.close();
    await removeCluster(state.state);
  };
  return { rest, kubeconfig, nodeKubeconfig: kubeconfig, controllerKubeconfig: kubeconfig, server, stop };
}

async function applyDefinitions(rest: Rest, definitions: readonly { metadata: { name: string } }[]): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const definition of definitions) await rest.apply(`${path}/${definition.metadata.name}`, definition);
}
