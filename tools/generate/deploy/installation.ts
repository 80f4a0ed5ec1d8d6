// deploy/holdfast.yaml: everything that an installation is, in the order in which `kubectl apply` makes it.
import { definitionOf } from "../../../src/api/definition.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { daemonSet } from "./daemon-set.ts";
import { controllerObjects } from "./deployment.ts";
import { flowControlObjects } from "./flow-control.ts";
import { leasePolicyObjects } from "./lease-policy.ts";
import { controllerName, imageRepository, nodeName, systemNamespace } from "./place.ts";
import { rightsObjects } from "./rights.ts";

export interface InstallationOptions {
  /** As in `localhost/holdfast:0.1.0`. */
  readonly image: string;
}

export function imageName(version: string): string {
  return `${imageRepository}:${version}`;
}

export function installation({ image }: InstallationOptions): object[] {
  const accounts = { namespace: systemNamespace, serviceAccounts: [nodeName, controllerName] };
  return [
    ...kinds.map(definitionOf),
    ...flowControlObjects(accounts),
    ...rightsObjects(),
    ...leasePolicyObjects(),
    daemonSet(image),
    ...controllerObjects(image),
  ];
}
