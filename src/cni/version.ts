// The versions of the CNI specification, what each allows, and the reply to VERSION.
import { CniError, errorCodes } from "./error.ts";

/** Oldest first: the order is the order of the versions. */
export const specVersions = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const;

export type SpecVersion = (typeof specVersions)[number];

const latestVersion: SpecVersion = "1.1.0";

/** A missing or empty version is 0.1.0: the first specification had no such field. Code 1 for one we do not speak. */
export function parseVersion(value: unknown): SpecVersion {
  if (value === undefined || value === null || value === "") return "0.1.0";
  const version = specVersions.find((known) => known === value);
  if (version !== undefined) return version;
  const message = `cniVersion is ${JSON.stringify(value)}, which is not supported: write one of ${specVersions.join(", ")}.`;
  throw new CniError(errorCodes.incompatibleVersion, message);
}

export function atLeast(version: SpecVersion, floor: SpecVersion): boolean {
  return specVersions.indexOf(version) >= specVersions.indexOf(floor);
}

export const commands = ["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"] as const;

export type Command = (typeof commands)[number];

/**
 * Code 1 for a CHECK before the version that brought it. GC and STATUS (1.1.0) pass in all: clean-up is not refused.
 */
export function assertCheckable(version: SpecVersion): void {
  if (atLeast(version, "0.4.0")) return;
  const message = `CNI_COMMAND is CHECK, which cniVersion ${version} does not have: set cniVersion to 0.4.0 or later.`;
  throw new CniError(errorCodes.incompatibleVersion, message);
}

/** Answers in the version that was asked in, or in our latest where we do not speak that one: the reply tells so. */
export function versionReply(asked: unknown) {
  const cniVersion = specVersions.find((known) => known === asked) ?? latestVersion;
  return { cniVersion, supportedVersions: specVersions };
}
