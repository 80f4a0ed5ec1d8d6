// The native shim: scriptc compiles the TypeScript to an object, Debian's clang links it, statically if libc allows it.
//
// A static executable runs on every Linux of its architecture, whatever C library the host has or has not.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ShimBuildError } from "./build-error.ts";
import { lastLines, runCommand } from "./command.ts";
import { bindings, nativeSource, root } from "./sources.ts";

export interface NativeOptions {
  readonly compiler: string;
  readonly target: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
}

export async function buildNative(options: NativeOptions): Promise<"static" | "dynamic"> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-shim-"));
  try {
    const linker = join(folder, "link");
    writeFileSync(linker, '#!/bin/sh\nexec clang -static "$@"\n');
    chmodSync(linker, 0o755);
    const statically = await compile(options, linker);
    if (statically.status === 0) return "static";
    const dynamically = await compile(options, "clang");
    if (dynamically.status !== 0) {
      throw new ShimBuildError(
        "BuildFailed",
        `scriptc cannot compile ${nativeSource}; its own words:\n${lastLines(dynamically.words)}`,
      );
    }
    options.log(`the shim is linked dynamically, since a static link failed: ${lastLines(statically.words)}`);
    return "dynamic";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compile({ compiler, target, signal }: NativeOptions, linker: string) {
  const flags = ["--ffi", join(root, bindings), "--strip", "--no-keep-c", "-o", target];
  return runCommand([process.execPath, compiler, "build", join(root, nativeSource), ...flags], {
    // Its own cache saves a second here and would be one more thing that can be stale.
    env: { SCRIPTC_LINKER: linker, SCRIPTC_NO_CACHE: "1" },
    ...(signal && { signal }),
  });
}

/** Asked before anything is fetched: 300 MB of compiler are of no use without it. */
export async function requireLinker(): Promise<void> {
  const missing: string[] = [];
  for (const program of ["clang", "ld.lld"]) {
    const ran = await runCommand([program, "--version"]).catch(() => undefined);
    if (ran?.status !== 0) missing.push(program);
  }
  if (missing.length === 0) return;
  throw new ShimBuildError(
    "CompilerMissing",
    `the native shim needs ${missing.join(" and ")}: on Debian, apt-get install --no-install-recommends clang lld`,
  );
}
