// Our definitions on a server, as an administrator applies them, for tests that use the runtime's own client.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { parseAllDocuments } from "yaml";

import { holds, ipPools, reservations } from "../../src/cluster/resources.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";

const folder = join(import.meta.dirname, "..", "..", "deploy", "crds");

const definitions = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

/** Resolves when all of them are served. */
export async function installDefinitions(client: KubeClient): Promise<void> {
  for (const file of readdirSync(folder)) {
    for (const document of parseAllDocuments(readFileSync(join(folder, file), "utf8"))) {
      const object = document.toJS() as AnyObject;
      if (object.kind === definitions.kind) await client.create(definitions, object);
    }
  }
  for (const resource of [reservations, holds, ipPools] as readonly Resource[]) {
    while (!(await isServed(() => client.list(resource, { namespace: "default" })))) await pause(50);
  }
}

async function isServed(list: () => Promise<unknown>): Promise<boolean> {
  try {
    await list();
    return true;
  } catch (error) {
    if (isApiError(error, "not-found")) return false;
    throw error;
  }
}
