// Brings in what a suite needs, and says in a sentence what is missing where it cannot.
import { ensureDebianPackages } from "../bootstrap/debian.ts";
import { ensureUnpacked } from "../bootstrap/unpacked.ts";
import { ensureKubeBinaries } from "../kube/build.ts";
import type { Suite } from "./suites.ts";

/** Undefined when the suite can run. */
export async function missingFor(suite: Suite, log: (line: string) => void): Promise<string | undefined> {
  if (suite.root && process.getuid?.() !== 0) return "it makes namespaces, mounts and cgroups: run `npm test` as root";
  const { missing, reason } = ensureDebianPackages(suite.debian ?? [], log);
  if (reason !== undefined) return `it needs ${missing.join(", ")}: ${reason}`;
  for (const name of suite.unpacked ?? []) {
    const why = ensureUnpacked(name, log);
    if (why !== undefined) return `it needs Debian's ${name}: ${why}`;
  }
  if (suite.kube === undefined) return undefined;
  try {
    await ensureKubeBinaries({ only: suite.kube, log });
    return undefined;
  } catch (error) {
    return `it needs the real ${suite.kube.join(", ")}: ${error instanceof Error ? error.message : String(error)}`;
  }
}
