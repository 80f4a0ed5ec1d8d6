// Which network namespace stands behind a path, now: device and inode of nsfs, as `ip netns identify` compares them.
import { stat } from "node:fs/promises";

/** Undefined where there is nothing. The kernel may use a number again after the namespace is gone: together with the path it is the same sandbox. */
export async function namespaceId(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
