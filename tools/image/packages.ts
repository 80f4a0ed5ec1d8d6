// The packages that production code may import, from the lock file: not for development only, for this platform.
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface LockedPackage {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
}

export interface Platform {
  readonly os: string;
  readonly cpu: string;
}

/** Paths below the checkout, as `node_modules/zod`. Node, a package too, is left out: the image has it elsewhere. */
export function productionPackages(root: string, { os, cpu }: Platform): string[] {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev, devOptional }]) => path !== "" && dev !== true && devOptional !== true && !isNode.test(path))
    .filter(([, locked]) => fits(locked.os, os) && fits(locked.cpu, cpu))
    .map(([path]) => path)
    .sort();
}

const isNode = /^node_modules\/node-linux-/;

function fits(wanted: string | readonly string[] | undefined, mine: string): boolean {
  return wanted === undefined || (typeof wanted === "string" ? [wanted] : wanted).includes(mine);
}
