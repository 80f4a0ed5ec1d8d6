// Where the parts of an installation live and what they are called: one set of names for manifests, rights and tests.
import { dirname } from "node:path";

import { defaultSocket, defaultSpool } from "../../../src/cni/protocol/limits.ts";

export const systemNamespace = "kube-system";
export const nodeName = "holdfast-node";
export const controllerName = "holdfast-controller";
/** Nothing can be pulled under this name: it is loaded into the nodes, or replaced by the name in your own registry. */
export const imageRepository = "localhost/holdfast";

/** On every node; also what scrapes and probes connect to. Neither is in use by a stock cluster. */
export const nodeMetricsPort = 9465;
export const controllerMetricsPort = 9477;
/** Of the controller's pods, where the webhooks are on (--webhook-port). */
export const webhookPort = 9443;

/** Between shim and daemon, and what outlives the daemon's container. */
export const runFolder = dirname(defaultSocket);
export const stateFolder = dirname(defaultSpool);

/** Key and value that every object of the installation carries. */
const partOf = { "app.kubernetes.io/part-of": "holdfast" } as const;

export const labelsOf = (name: string) => ({ "app.kubernetes.io/name": name, ...partOf });
export const selectorOf = (name: string) => ({ "app.kubernetes.io/name": name });
