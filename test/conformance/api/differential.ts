// Random stories told to two servers: what one answers, the other must answer. The slow oracle beside the cases, for
// what no case has thought of: the many ways in which patches, applies and updates of one object can follow each other.
import { isDeepStrictEqual } from "node:util";

import * as fc from "fast-check";

import { apply, del, jsonPatch, mergePatch, post, put, strategicPatch, type Call, type Query } from "./call.ts";
import type { ApiClient } from "./client.ts";
import { dig, type KubeObject, type ManagedFields } from "./object.ts";

/** A kind of object, and how to write it at random. */
export interface Plot {
  readonly apiVersion: string;
  readonly kind: string;
  /** The collection in the namespace of the story. */
  readonly collection: (namespace: string) => string;
  /** The fields beside the metadata, complete enough to be created. */
  readonly whole: fc.Arbitrary<object>;
  /** The same in part, with nulls, as merge patches have it. */
  readonly partial: fc.Arbitrary<object>;
  /** What an applier may apply: in part, without nulls. */
  readonly applied: fc.Arbitrary<object>;
  /** Key: a JSON pointer; value: what may stand there. */
  readonly places: Readonly<Record<string, fc.Arbitrary<unknown>>>;
  readonly strategic?: fc.Arbitrary<object>;
}

/** What a request is made of besides its own content. */
interface Scene {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** The version that the object had last. */
  readonly resourceVersion: string;
}

type Step = (scene: Scene) => Call;

const managers = fc.constantFrom("one", "two", "three");
const labels = fc.dictionary(fc.constantFrom("x", "y", "z"), fc.constantFrom("1", "2"), { maxKeys: 2 });

/** One operation of a JSON patch, with values that fit their place: the cases look at those that do not. */
function operation({ places }: Plot): fc.Arbitrary<object> {
  const setting = Object.entries(places).map(([path, value]) =>
    fc.record({ op: fc.constantFrom("add", "replace", "test"), path: fc.constant(path), value }),
  );
  return fc.oneof(...setting, fc.record({ op: fc.constant("remove"), path: fc.constantFrom(...Object.keys(places)) }));
}

/** One request about the object, made up for whatever path it has. */
function step(plot: Plot): fc.Arbitrary<Step> {
  const query = managers.map((fieldManager): Query => ({ fieldManager }));
  const operations = fc.array(operation(plot), { minLength: 1, maxLength: 3 });
  const steps: fc.Arbitrary<Step>[] = [
    fc.tuple(plot.whole, labels, query).map(([body, own, q]) => (scene) => {
      const { resourceVersion } = scene;
      const { metadata, ...head } = naming(scene, own);
      return put(scene.path, { ...head, metadata: { ...metadata, resourceVersion }, ...body }, q);
    }),
    fc.tuple(plot.partial, query).map(
      ([body, q]) =>
        ({ path }) =>
          mergePatch(path, body, q),
    ),
    fc.tuple(operations, query).map(
      ([list, q]) =>
        ({ path }) =>
          jsonPatch(path, list, q),
    ),
    fc.tuple(plot.applied, fc.option(labels, { nil: undefined }), query, fc.boolean()).map(
      ([body, own, q, force]) =>
        (scene) =>
          apply(scene.path, { ...naming(scene, own), ...body }, { ...q, force }),
    ),
  ];
  if (plot.strategic !== undefined) {
    steps.push(
      fc.tuple(plot.strategic, query).map(
        ([body, q]) =>
          ({ path }) =>
            strategicPatch(path, body, q),
      ),
    );
  }
  return fc.oneof(...steps);
}

function naming({ path, apiVersion, kind }: Scene, own: object | undefined) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { apiVersion, kind, metadata: own === undefined ? { name } : { name, labels: own } };
}

/** A story: an object to create, and what is asked of it then. */
interface Story {
  readonly start: object;
  readonly steps: readonly Step[];
}

export const stories = (plot: Plot): fc.Arbitrary<Story> =>
  fc.record({ start: plot.whole, steps: fc.array(step(plot), { minLength: 1, maxLength: 6 }) });

interface Answer {
  readonly asked: string;
  readonly status: number;
  readonly body: unknown;
  /** The words of a refusal, which may differ. */
  readonly message: unknown;
}

/** Tells a story to one server, and answers with all that it said. */
export async function tell(api: ApiClient, plot: Plot, namespace: string, { start, steps }: Story): Promise<Answer[]> {
  const { apiVersion, kind } = plot;
  const collection = plot.collection(namespace);
  const path = `${collection}/a`;
  await api.send(del(path));
  const answers: Answer[] = [];
  let resourceVersion = "";
  const ask = async (call: Call) => {
    const { status, body } = await api.send(call);
    if (status < 300) resourceVersion = (body as KubeObject).metadata.resourceVersion;
    answers.push({
      asked: words(call),
      status,
      body: status < 300 ? common(body) : refusal(body),
      message: dig(body, "message"),
    });
  };
  await ask(post(collection, { apiVersion, kind, metadata: { name: "a" }, ...start }, { fieldManager: "zero" }));
  for (const next of steps) await ask(next({ path, apiVersion, kind, resourceVersion }));
  await api.send(del(path));
  return answers;
}

/** The request without the version, which no two servers share. */
function words({ method, headers, query, body }: Call): string {
  const sent = JSON.stringify(body, (key, value: unknown) => (key === "resourceVersion" ? undefined : value));
  return `${method} ${headers?.["content-type"] ?? ""} ${JSON.stringify(query)} ${sent}`;
}

/** The first answer in which two servers differ, in words; undefined when there is none. */
export function difference(theirs: readonly Answer[], ours: readonly Answer[]): string | undefined {
  const index = theirs.findIndex((answer, at) => !isAlike(answer, ours[at]));
  if (index < 0 || isKinder(theirs[index]!, ours[index]!)) return undefined;
  const story = theirs.slice(0, index + 1).map(({ asked, status }) => `  ${status} ${asked}`);
  const said = (answer: Answer | undefined) =>
    `${answer?.status}\n${JSON.stringify(answer?.body, sorted, 1)}`.split("\n");
  const [real, embedded] = [said(theirs[index]), said(ours[index])];
  const apart = [...only("- real:", real, embedded), ...only("+ embedded:", embedded, real)];
  // Where the lines are the same ones in another order, all of them are shown.
  return [...story, ...(apart.length > 0 ? apart : [...real, "embedded:", ...embedded])].join("\n");
}

const isAlike = ({ status, body }: Answer, other: Answer | undefined) =>
  other !== undefined && status === other.status && isDeepStrictEqual(body, other.body);

/**
 * An apply that drops the last field of a map whose owner is another leaves null there in the real server, which then
 * refuses it for a custom resource. The embedded one drops the null: the story ends, without a difference.
 */
const isKinder = (real: Answer, embedded: Answer) =>
  real.status === 422 &&
  embedded.status === 200 &&
  real.asked.includes("apply-patch") &&
  /must be of type \w+: "null"/.test(String(real.message));

const only = (mark: string, one: readonly string[], other: readonly string[]) =>
  one.filter((line) => !other.includes(line)).map((line) => `${mark} ${line}`);

/** Keys in their order, so that two texts can be compared by eye. */
function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Of a refusal the reason: its words may differ, and how many faults it names. */
const refusal = (body: unknown): unknown => ({ reason: dig(body, "reason") });

/** An object without identity and time, with its managers; without empty values: Go writes some empty structs only. */
function common(body: unknown): unknown {
  const { metadata, ...rest } = body as { metadata: Record<string, unknown> };
  const { name, labels: own, annotations, finalizers, generation, managedFields } = metadata;
  return {
    ...full(rest),
    name,
    labels: full(own),
    annotations: full(annotations),
    finalizers,
    generation,
    ...record(managedFields as readonly ManagedFields[] | undefined),
  };
}

/** Who manages what. Entries of one second are in an order of their names, so that the order says little. */
function record(entries: readonly ManagedFields[] = []): { readonly managed: unknown } {
  return {
    managed: Object.fromEntries(entries.map((entry) => [`${entry.operation} ${entry.manager}`, entry.fieldsV1])),
  };
}

/** A value without what is empty in it. */
function full<T>(value: T): T | undefined {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return (value.length === 0 ? undefined : value.map(full)) as T;
  const kept = Object.entries(value).flatMap(([key, one]) => {
    const rest = full(one as unknown);
    return rest === undefined ? [] : [[key, rest] as const];
  });
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as T);
}
