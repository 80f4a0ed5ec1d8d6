// A request to the API as a value. The client performs it; a case says whether it expects an answer or a refusal.

export type Query = Readonly<Record<string, string | number | boolean>>;

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is when it is a string, as JSON otherwise. */
  readonly body?: unknown;
}

const contentType = (type: string) => ({ "content-type": type });
const json = contentType("application/json");

export const get = (path: string, query: Query = {}): Call => ({ method: "GET", path, query });

export const post = (path: string, body: unknown, query: Query = {}): Call => ({
  method: "POST",
  path,
  query,
  headers: json,
  body,
});

export const put = (path: string, body: unknown, query: Query = {}): Call => ({
  method: "PUT",
  path,
  query,
  headers: json,
  body,
});

/** `options` is a DeleteOptions without its kind; absent, the request has no body. */
export const del = (path: string, options?: object, query: Query = {}): Call => {
  if (options === undefined) return { method: "DELETE", path, query };
  const body = { kind: "DeleteOptions", apiVersion: "v1", ...options };
  return { method: "DELETE", path, query, headers: json, body };
};

const patch =
  (type: string) =>
  (path: string, body: unknown, query: Query = {}) => {
    const call: Call = { method: "PATCH", path, query, headers: contentType(type), body };
    return call;
  };

export const jsonPatch = patch("application/json-patch+json");
export const mergePatch = patch("application/merge-patch+json");
export const strategicPatch = patch("application/strategic-merge-patch+json");
/** The body is JSON, which is YAML too. */
export const apply = patch("application/apply-patch+yaml");

export const accepting = (call: Call, type: string): Call => ({ ...call, headers: { ...call.headers, accept: type } });
