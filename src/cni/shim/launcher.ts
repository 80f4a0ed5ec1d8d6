// The fallback as a file that can be executed: `#!` and the path of Node, then one line that keeps its script.

/** The kernel reads 256 bytes of such a line since Linux 5.1, 128 before (BINPRM_BUF_SIZE), the end of the line among them. */
const lineLimitBytes = 127;

export class LauncherError extends Error {
  override readonly name = "LauncherError";
  readonly code = "BadNodePath";
}

export function launcherOf(nodePath: string, script: string): string {
  const line = `#!${nodePath}`;
  const bytes = new TextEncoder().encode(line).length;
  if (!/^\/\S*$/.test(nodePath) || bytes > lineLimitBytes) {
    throw new LauncherError(
      `the path of Node, ${JSON.stringify(nodePath)}, cannot stand in the first line of a script: it must be absolute, without white space, and have at most ${lineLimitBytes - 2} bytes. Give another with --node, for example a link.`,
    );
  }
  return `${line}\n${script}`;
}

/** The same launcher for another Node. */
export function withNode(nodePath: string, launcher: string): string {
  return launcherOf(nodePath, launcher.slice(launcher.indexOf("\n") + 1));
}
