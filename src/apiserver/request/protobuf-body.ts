// A request's body in protobuf, turned into the JSON that it stands for, so that everything after this knows JSON only.
import type { JsonObject } from "../json.ts";
import { builtinResources, reviewKinds } from "../registry/builtin.ts";
import { apiVersion as versionOf } from "../registry/resource.ts";
import { decodeMessage, openEnvelope, ProtobufError } from "../schema/protobuf.ts";
import { badRequest, unknownFormat } from "../status.ts";

export const protobufType = "application/vnd.kubernetes.protobuf";

/** Kinds that are sent but not stored. Key: kind. */
const others: Readonly<Record<string, string>> = {
  DeleteOptions: "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  Eviction: "io.k8s.api.policy.v1.Eviction",
  Binding: "io.k8s.api.core.v1.Binding",
  ...Object.fromEntries(
    reviewKinds.map(({ group, version, kind }) => [kind, `io.k8s.api.${group.split(".")[0]}.${version}.${kind}`]),
  ),
};

export function jsonOf(body: Uint8Array): string {
  try {
    const { apiVersion, kind, raw } = openEnvelope(Buffer.from(body));
    const object: JsonObject = { ...decodeMessage(raw, definitionOf(apiVersion, kind)), apiVersion, kind };
    return JSON.stringify(object);
  } catch (cause) {
    if (cause instanceof ProtobufError || cause instanceof SyntaxError) throw badRequest(cause.message, { cause });
    throw cause;
  }
}

function definitionOf(apiVersion: string, kind: string): string {
  const resource = builtinResources.find((each) => each.kind === kind && apiVersion === versionOf(each));
  const definition = resource?.definition ?? others[kind];
  if (definition !== undefined) return definition;
  throw unknownFormat(`${kind} of ${apiVersion} is accepted as application/json, application/yaml`);
}
