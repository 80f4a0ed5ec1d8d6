// Lists: a snapshot at one revision, paged by limit and continue; every page is of that snapshot, or the answer is 410.
import { badRequest, expired } from "../status.ts";
import { type Entry, keyOf } from "../store/entry.ts";
import type { Store } from "../store/store.ts";
import { type Context, checkMatch, compactedError, numberIn, refuseFuture } from "./context.ts";
import { filterOf } from "./filter.ts";

export interface Page {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly continueToken?: string;
  readonly remaining?: number;
}

/** In a token: go on with whatever is there now. */
const anyRevision = -1;

interface Token {
  readonly revision: number;
  /** The key of the last object that was sent. */
  readonly after: string;
}

function readToken(text: string): Token {
  try {
    const value = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as { rv: unknown; start: unknown };
    if (typeof value.rv === "number" && typeof value.start === "string")
      return { revision: value.rv, after: value.start };
  } catch (cause) {
    throw badRequest("invalid continue token: continue key is not valid: it was not made by this server", { cause });
  }
  throw badRequest("invalid continue token: continue key is not valid");
}

const writeToken = (token: Token) =>
  Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: token.revision, start: token.after })).toString("base64url");

export function list(store: Store, context: Context): Page {
  const { query } = context;
  const limit = numberIn(query, "limit") ?? 0;
  const given = query.get("continue") ?? "";
  const token = given === "" ? undefined : readToken(given);
  const asked = numberIn(query, "resourceVersion");
  const match = query.get("resourceVersionMatch") ?? "";
  checkMatch(match, asked, token !== undefined);
  if (asked !== undefined && asked > 0) {
    if (token !== undefined) throw badRequest("specifying resource version is not allowed when using continue");
    refuseFuture(store, asked);
  }
  const revision = snapshotRevision(store, token, asked, match, limit);
  const past = revision === store.revision ? undefined : store.history.rewind(context.resource.storage, revision);
  return page(store, context, { revision, after: token?.after ?? "" }, limit, past);
}

function snapshotRevision(
  store: Store,
  token: Token | undefined,
  asked: number | undefined,
  match: string,
  limit: number,
): number {
  if (token?.revision === anyRevision) return store.revision;
  if (token !== undefined) {
    if (token.revision < store.history.compacted) {
      const error = expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
      );
      error.continueToken = writeToken({ revision: anyRevision, after: token.after });
      throw error;
    }
    refuseFuture(store, token.revision);
    return token.revision;
  }
  // With a limit and a revision but no word on how to match, the real server reads exactly that revision.
  const exact = match === "Exact" || (asked !== undefined && asked > 0 && match === "" && limit > 0);
  if (!exact) return store.revision;
  const error = compactedError(store, asked!);
  if (error !== undefined) throw error;
  return asked!;
}

function page(
  store: Store,
  context: Context,
  from: Token,
  limit: number,
  past: Map<string, Entry | undefined> | undefined,
): Page {
  const filter = filterOf(context);
  const entries: Entry[] = [];
  let remaining = 0;
  for (const entry of store.collection(context.resource.storage).list(context.namespace, from.after, past)) {
    if (filter !== undefined && !filter(entry)) continue;
    if (limit === 0 || entries.length < limit) entries.push(entry);
    else remaining++;
  }
  const { revision } = from;
  if (remaining === 0) return { entries, revision };
  const last = entries.at(-1)!;
  const continueToken = writeToken({ revision, after: keyOf(last.namespace, last.name) });
  // The real server cannot count what a selector would leave, and says nothing then.
  return { entries, revision, continueToken, ...(filter === undefined ? { remaining } : {}) };
}
