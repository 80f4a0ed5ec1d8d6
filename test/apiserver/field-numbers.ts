// Makes src/apiserver/schema/field-numbers.json from the .proto files of the Kubernetes modules: every field's protobuf
// number; the schemas have the types. A field that JSON writes inline holds the numbers of its content. A question mark
// marks a field that Go always writes on the wire, and leaves out of JSON when it is zero: the Go types say which.
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";

import type { JsonObject } from "../../src/apiserver/json.ts";
import { digObject } from "../../src/apiserver/json.ts";
import { findGo } from "../../tools/bootstrap/go.ts";
import { moduleFolder } from "../../tools/kube/cache.ts";

interface Field {
  readonly name: string;
  readonly number: number;
  readonly type: string;
  /** Neither a pointer nor always written in JSON: zero and absent are the same. */
  readonly isAbsentAtZero: boolean;
}

/** Key: package and message, like k8s.io.api.core.v1.Pod. */
type Messages = Map<string, readonly Field[]>;

const modules = ["k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver"];

/** Reads the modules at the versions that tools/kube builds; Go fetches what is not in its cache. */
export function readMessages(): Messages {
  const messages: Messages = new Map();
  const go = findGo("1.21").path;
  const said = execFileSync(go, ["mod", "download", "-json", ...modules], { cwd: moduleFolder, encoding: "utf8" });
  const folders = [...said.matchAll(/"Dir": "(.+)"/g)].map((match) => match[1]!);
  if (folders.length !== modules.length) throw new Error(`go mod download named ${folders.length} folders: ${said}`);
  for (const folder of folders) {
    for (const file of globSync(`${folder}/**/generated.proto`)) {
      readFile(readFileSync(file, "utf8"), absentAtZero(dirname(file)), messages);
    }
  }
  return messages;
}

/** `Message.number` of every such field of the Go types beside a .proto file. */
function absentAtZero(folder: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const file of globSync(`${folder}/*.go`)) {
    if (file.endsWith("generated.pb.go")) continue;
    for (const [, struct, body] of readFileSync(file, "utf8").matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
      const fields = body!.matchAll(/^\t\w+\s+(\S+)\s+`json:"[^"]*,omitempty[^"]*".*protobuf:"\w+,(\d+),opt/gm);
      for (const [, type, number] of fields) if (!type!.startsWith("*")) found.add(`${struct}.${number}`);
    }
  }
  return found;
}

function readFile(text: string, zeros: ReadonlySet<string>, messages: Messages): void {
  const name = /^package ([\w.]+);/m.exec(text)?.[1] ?? "";
  for (const [, message, body] of text.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    const fields = [...body!.matchAll(/^ {2}(?:optional |repeated )?(map<[^>]+>|\.?[\w.]+) (\w+) = (\d+);/gm)].map(
      (match) => ({
        type: match[1]!.replace(/^\./, ""),
        name: match[2]!,
        number: Number(match[3]),
        isAbsentAtZero: zeros.has(`${message}.${match[3]}`),
      }),
    );
    messages.set(`${name}.${message}`, fields);
  }
}

/** io.k8s.api.core.v1.Pod is k8s.io.api.core.v1.Pod there. */
const messageOf = (definition: string) =>
  definition.replace(/^io\.k8s\./, "k8s.io.").replace("apiextensions-apiserver", "apiextensions_apiserver");

export function fieldNumbers(messages: Messages, definitions: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const definition of Object.keys(definitions).sort()) {
    const message = messageOf(definition);
    const properties = digObject(definitions, definition, "properties");
    const fields = messages.get(message);
    if (fields !== undefined && Object.keys(properties).length > 0)
      result[definition] = numbersOf(messages, message, fields, properties);
  }
  return result;
}

function numbersOf(messages: Messages, message: string, fields: readonly Field[], properties: JsonObject): JsonObject {
  const numbers: JsonObject = {};
  // A few names differ in the case of their first letters; those of schemas have dashes and dollars in JSON.
  const spelled = new Map(Object.keys(properties).map((name) => [name.toLowerCase().replaceAll(/[$-]/g, ""), name]));
  for (const { name, number, type, isAbsentAtZero } of fields) {
    const inline = messages.get(type) ?? messages.get(`${message.slice(0, message.lastIndexOf("."))}.${type}`);
    const known = spelled.get(name.toLowerCase());
    if (known !== undefined) numbers[number] = isAbsentAtZero ? `${known}?` : known;
    else if (inline !== undefined) numbers[number] = numbersOf(messages, message, inline, properties);
  }
  return numbers;
}
