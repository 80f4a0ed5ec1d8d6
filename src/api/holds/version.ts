// The version of a hold that is an object: its uid and its resourceVersion in one opaque string. The resourceVersion
// alone would do for one object; the uid keeps a deletion from hitting a later object of the same name.
import { ObjectError } from "../error.ts";
import { describeObject, type ReadMetadata } from "../metadata.ts";

export function versionOf(kind: string, metadata: ReadMetadata): string {
  const { uid, resourceVersion } = metadata;
  if (uid && resourceVersion) return `${uid}@${resourceVersion}`;
  const words = `${describeObject(kind, metadata)} has no ${uid ? "resourceVersion" : "uid"}: it did not come from an API server. Read it from there.`;
  throw new ObjectError("bad-version", words);
}

/** What a guarded delete sends as its preconditions. */
export function preconditionsOf(version: string): { readonly uid: string; readonly resourceVersion: string } {
  const at = version.lastIndexOf("@");
  if (at > 0 && at < version.length - 1) return { uid: version.slice(0, at), resourceVersion: version.slice(at + 1) };
  const words = `${JSON.stringify(version)} is no version of a hold in the API: take it from the hold that was read or answered.`;
  throw new ObjectError("bad-version", words);
}
