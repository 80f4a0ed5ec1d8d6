import type { ApiResponse } from "../../kube/transport.ts";
// The OpenAPI documents, made when first asked for and again after a CRD changed.
import type { Registry } from "../registry/registry.ts";
import { respondText } from "../request/represent.ts";
import { noSuchPath } from "../status.ts";
import { encodeV2 } from "./protobuf.ts";
import { documentV2 } from "./v2.ts";
import { documentV3, indexV3 } from "./v3.ts";

// What is asked for has an @ in it, which media types may not have: the real server answers with a dot instead, and clients insist on it.
const protobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

export class OpenApi {
  readonly #registry: Registry;
  #generation = -1;
  /** Key: the path, with the form for v2. */
  #made = new Map<string, string | Uint8Array>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  answer(path: string, headers: Readonly<Record<string, string>>): ApiResponse {
    if (this.#generation !== this.#registry.generation) {
      this.#generation = this.#registry.generation;
      this.#made = new Map();
    }
    if (path === "/openapi/v2") return this.#v2((headers["accept"] ?? "").includes("protobuf"));
    if (path === "/openapi/v3") return json(this.#once(path, () => JSON.stringify(indexV3(this.#registry))) as string);
    const root = path.slice("/openapi/v3/".length);
    const document = this.#once(path, () => JSON.stringify(documentV3(this.#registry, root) ?? null)) as string;
    if (document === "null") throw noSuchPath();
    return json(document);
  }

  #v2(isProtobuf: boolean): ApiResponse {
    if (!isProtobuf) return json(this.#once("v2 json", () => JSON.stringify(documentV2(this.#registry))) as string);
    const bytes = this.#once("v2 protobuf", () => encodeV2(documentV2(this.#registry))) as Uint8Array;
    return { status: 200, headers: { "content-type": protobufType }, body: once(bytes) };
  }

  #once(key: string, make: () => string | Uint8Array): string | Uint8Array {
    let found = this.#made.get(key);
    if (found === undefined) this.#made.set(key, (found = make()));
    return found;
  }
}

const json = (text: string) => respondText(200, text, "application/json");

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
