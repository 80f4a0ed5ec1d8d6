// A custom resource of a case's own: the definition, made and waited for, and the objects under it.
import { get } from "./call.ts";
import { unique, type Fixture } from "./fixture.ts";
import { dig, type KubeObject } from "./object.ts";
import { until } from "./until.ts";

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

interface VersionOptions {
  readonly name?: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  /** The schema of the whole object; `spec` and `status` below are a short way to write it. */
  readonly schema?: object;
  readonly spec?: object;
  readonly status?: object;
  readonly subresources?: object;
  readonly additionalPrinterColumns?: readonly object[];
  readonly selectableFields?: readonly object[];
}

export interface DefinitionOptions extends VersionOptions {
  readonly scope?: "Namespaced" | "Cluster";
  readonly versions?: readonly VersionOptions[];
  readonly names?: object;
}

const loose = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function version(options: VersionOptions): object {
  const { name = "v1", served = true, storage = true, spec = loose, status = loose, schema, ...rest } = options;
  const { subresources, additionalPrinterColumns, selectableFields } = rest;
  return {
    name,
    served,
    storage,
    schema: { openAPIV3Schema: schema ?? { type: "object", properties: { spec, status } } },
    subresources,
    additionalPrinterColumns,
    selectableFields,
  };
}

/** A definition with a group of its own, so that cases cannot meet. */
export function definition(options: DefinitionOptions = {}) {
  const group = `${unique("g")}.holdfast.test`;
  const { scope = "Namespaced", versions = [options], names = {} } = options;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope,
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", ...names },
      versions: versions.map(version),
    },
  };
}

/** A custom resource that is served. */
export class Widgets {
  readonly fixture: Fixture;
  readonly group: string;
  readonly definition: KubeObject;

  constructor(fixture: Fixture, group: string, object: KubeObject) {
    this.fixture = fixture;
    this.group = group;
    this.definition = object;
  }

  get definitionPath(): string {
    return `${definitions}/widgets.${this.group}`;
  }

  /** The collection in the case's namespace, or below it. */
  at(...rest: readonly string[]): string {
    return this.atVersion("v1", ...rest);
  }

  atVersion(versionName: string, ...rest: readonly string[]): string {
    return [`/apis/${this.group}/${versionName}/namespaces/${this.fixture.namespace}/widgets`, ...rest].join("/");
  }

  /** Across namespaces, or at cluster scope. */
  everywhere(...rest: readonly string[]): string {
    return [`/apis/${this.group}/v1/widgets`, ...rest].join("/");
  }

  body(name: string, more: object = {}, metadata: object = {}): object {
    return { apiVersion: `${this.group}/v1`, kind: "Widget", metadata: { name, ...metadata }, ...more };
  }
}

/** Makes a definition and waits until its objects are served in every served version; removed when the case is over. */
export async function widgets(fixture: Fixture, options: DefinitionOptions = {}): Promise<Widgets> {
  const body = definition(options);
  const { group } = body.spec;
  await fixture.lend(definitions, body);
  const definitionPath = `${definitions}/widgets.${group}`;
  const object = await until(`${definitionPath} is established`, async () => {
    const seen = await fixture.api.done(get(definitionPath));
    return condition(seen, "Established")?.status === "True" && seen;
  });
  const served = (options.versions ?? [options]).filter((v) => v.served !== false).map((v) => v.name ?? "v1");
  for (const name of served) {
    // Before it is served it is 404; while its storage is being made, 429.
    const path = `/apis/${group}/${name}/widgets`;
    await until(`${path} is served`, async () => (await fixture.api.send(get(path))).status === 200);
  }
  return new Widgets(fixture, group, object);
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export function condition(object: KubeObject, type: string): Condition | undefined {
  const conditions = dig(object, "status", "conditions") as readonly Condition[] | null | undefined;
  return conditions?.find((one) => one.type === type);
}
