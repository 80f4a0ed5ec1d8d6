// RFC 7047 section 4: JSON-RPC 1.0 in both directions. The other side asks too: `echo`, and `update` without an id.
import { OvsdbError } from "../error.ts";
import { excerpt } from "../notation/atom.ts";
import { isObject } from "../schema/column-type.ts";

export type Message =
  | { readonly kind: "request"; readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }
  | { readonly kind: "notification"; readonly method: string; readonly params: readonly unknown[] }
  | { readonly kind: "reply"; readonly id: unknown; readonly result: unknown; readonly error: unknown };

export function parseMessage(json: unknown): Message {
  if (isObject(json)) {
    const { id = null, method, params } = json;
    if (typeof method === "string" && Array.isArray(params)) {
      return id === null ? { kind: "notification", method, params } : { kind: "request", id, method, params };
    }
    if (method === undefined && id !== null && ("result" in json || "error" in json)) {
      return { kind: "reply", id, result: json["result"], error: json["error"] ?? null };
    }
  }
  throw new OvsdbError("malformed", `The server sent ${excerpt(json)}, which is no message of JSON-RPC.`);
}

/** What a server's error says: a string, or RFC 7047's <error>. */
export function wordsOfError(error: unknown): { readonly tag: string; readonly words: string } {
  if (typeof error === "string") return { tag: error, words: error };
  if (!isObject(error) || typeof error["error"] !== "string") return { tag: "", words: excerpt(error) };
  const { error: tag, details, syntax } = error;
  const more = [details, syntax].filter((each) => typeof each === "string" && each !== "");
  return { tag, words: more.length === 0 ? tag : `${tag} (${more.join("; ")})` };
}
