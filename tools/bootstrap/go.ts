// Go, found and judged: where it is, whether it is new enough, and otherwise what to do about it.
import { spawnSync } from "node:child_process";

export interface Go {
  readonly path: string;
  /** As in `1.26.8`. */
  readonly version: string;
}

class GoError extends Error {
  override readonly name = "GoError";
  readonly code: "GoMissing" | "GoTooOld";

  constructor(code: GoError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Go's own installer puts it where PATH often does not look. */
const usualPlaces = ["go", "/usr/local/go/bin/go", "/usr/lib/go/bin/go"];

/** The first Go that is at least `minimum`; throws GoError when there is none. */
export function findGo(minimum: string, places: readonly string[] = usualPlaces): Go {
  const tooOld: Go[] = [];
  for (const path of places) {
    const run = spawnSync(path, ["env", "GOVERSION"], { encoding: "utf8" });
    const version = run.status === 0 ? parseGoVersion(run.stdout) : undefined;
    if (version === undefined) continue;
    if (isAtLeast(version, minimum)) return { path, version };
    tooOld.push({ path, version });
  }
  const [old] = tooOld;
  if (old !== undefined) {
    throw new GoError(
      "GoTooOld",
      `Go ${old.version} (${old.path}) is too old to build Kubernetes: it takes Go ${minimum} or newer. ` +
        "Install a current Go into /usr/local/go, or put it first on PATH.",
    );
  }
  throw new GoError(
    "GoMissing",
    `there is no Go on this machine, and the real Kubernetes is built with it: install Go ${minimum} or newer into /usr/local/go or on PATH.`,
  );
}

/** Takes what `go env GOVERSION` prints: `go1.26.8`, `go1.27rc1`, `go1.26.8-X:jsonv2`. */
export function parseGoVersion(text: string): string | undefined {
  return /^go(\d+\.\d+(?:\.\d+)?)/.exec(text.trim())?.[1];
}

export function isAtLeast(version: string, minimum: string): boolean {
  const [have, want] = [version, minimum].map((each) => each.split(".").map(Number));
  for (const [index, part] of want!.entries()) {
    const own = have![index] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}
