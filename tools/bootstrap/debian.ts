// Debian packages by name: asks dpkg what is missing, installs it where it may, and otherwise says what to type.
import { spawnSync } from "node:child_process";

export interface DebianOutcome {
  /** Packages that are not installed; empty when everything is there. */
  readonly missing: readonly string[];
  /** Why they are still missing, and the remedy; undefined when none is. */
  readonly reason?: string;
}

function missingDebianPackages(names: readonly string[]): string[] {
  return names.filter((name) => {
    const query = spawnSync("dpkg-query", ["-W", "-f=${db:Status-Status}", name], { encoding: "utf8" });
    return query.stdout !== "installed";
  });
}

export function ensureDebianPackages(names: readonly string[], log: (line: string) => void): DebianOutcome {
  const missing = missingDebianPackages(names);
  if (missing.length === 0) return { missing };
  const remedy = `apt-get install --no-install-recommends ${missing.join(" ")}`;
  if (spawnSync("apt-get", ["--version"]).error !== undefined) {
    return { missing, reason: `this is no Debian (no apt-get): install ${missing.join(", ")} by your own means` };
  }
  if (process.getuid?.() !== 0) return { missing, reason: `not root: run \`sudo ${remedy}\` once` };

  log(`installing Debian packages: ${missing.join(", ")}`);
  const startedMs = Date.now();
  let install = aptInstall(missing);
  if (install.status !== 0) {
    log("the package lists may be old: apt-get update");
    spawnSync("apt-get", ["update", "-q"], { stdio: "ignore" });
    install = aptInstall(missing);
  }
  const still = missingDebianPackages(missing);
  if (still.length > 0) {
    const words = install.stderr.trim().split("\n").slice(-3).join(" ");
    return { missing: still, reason: `apt-get could not install them (${words}); run \`${remedy}\` and see why` };
  }
  log(`Debian packages installed in ${Math.round((Date.now() - startedMs) / 1000)} s`);
  return { missing: [] };
}

function aptInstall(names: readonly string[]) {
  return spawnSync("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...names], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}
