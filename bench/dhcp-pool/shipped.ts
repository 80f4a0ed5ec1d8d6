// How an installation starts the controller, read from deploy/holdfast.yaml: what is measured is what is shipped.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import { root } from "../cni/lab.ts";

interface Container {
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

interface Manifest {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string };
  readonly spec?: { readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } } };
}

export interface Shipped {
  readonly args: readonly string[];
  /** What the Deployment sets to a value; the pod's name is the cluster's to give. */
  readonly env: Readonly<Record<string, string>>;
}

export function shippedController(text = readFileSync(join(root, "deploy", "holdfast.yaml"), "utf8")): Shipped {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
  const found = objects.find((each) => each?.kind === "Deployment" && each.metadata?.name === "holdfast-controller");
  const [container] = found?.spec?.template?.spec?.containers ?? [];
  if (container === undefined) throw new Error("deploy/holdfast.yaml has no Deployment holdfast-controller");
  const set = (container.env ?? []).flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
  return { args: container.args, env: Object.fromEntries(set) };
}
