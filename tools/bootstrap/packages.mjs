// npm packages: installed when, and only when, the lock file is not the one that was installed last.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How long one install may hold the lock before another one takes it for dead: npm ci takes 30 s here, 10 minutes on a bad line. */
const lockPatienceMs = 10 * 60_000;

/**
 * @param {string} root the checkout
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {Promise<"current" | "installed">}
 */
export async function ensurePackages(root, { log = (line) => console.error(line) } = {}) {
  if (isCurrent(root)) return "current";
  const release = await lockInstall(root, log);
  try {
    if (isCurrent(root)) return "current"; // another command installed them while this one waited
    log("holdfast: installing npm packages (once per lock file, about half a minute)");
    const startedMs = Date.now();
    // Install scripts stay off: nothing we use needs one, and an install must not run what a package brings along.
    const npm = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: root,
      stdio: ["ignore", "ignore", "pipe"],
      encoding: "utf8",
    });
    if (npm.error !== undefined) {
      throw new Error(`cannot run npm (${npm.error.message}): install npm 11 and try again`);
    }
    if (npm.status !== 0) {
      throw new Error(
        `npm ci failed in ${root}; npm's own words:\n${npm.stderr.trim().split("\n").slice(0, 12).join("\n")}\n` +
          "Check that the npm registry is reachable (`npm ping`) and that the lock file is the committed one (`git status`), then try again.",
      );
    }
    copyFileSync(join(root, "package-lock.json"), stampOf(root));
    log(`holdfast: npm packages installed in ${Math.round((Date.now() - startedMs) / 1000)} s`);
    return "installed";
  } finally {
    release();
  }
}

/** @param {string} root */
function stampOf(root) {
  return join(root, "node_modules", ".holdfast-lock");
}

/** @param {string} root */
function isCurrent(root) {
  const stamp = stampOf(root);
  if (!existsSync(stamp)) return false;
  return readFileSync(stamp).equals(readFileSync(join(root, "package-lock.json")));
}

/**
 * Two commands in one fresh clone must not both run npm ci. The lock is a folder (mkdir is atomic) with the holder's pid in it.
 * @param {string} root
 * @param {(line: string) => void} log
 */
async function lockInstall(root, log) {
  const lock = join(root, ".cache", "install.lock");
  mkdirSync(join(root, ".cache"), { recursive: true });
  const startedMs = Date.now();
  let told = false;
  for (;;) {
    try {
      mkdirSync(lock);
      writeFileSync(join(lock, "pid"), String(process.pid));
      return () => rmSync(lock, { recursive: true, force: true });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
    if (!holderLives(lock) || Date.now() - startedMs > lockPatienceMs) {
      rmSync(lock, { recursive: true, force: true });
      continue;
    }
    if (!told) log(`holdfast: another command is installing packages (${lock}); waiting for it`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** @param {string} lock */
function holderLives(lock) {
  try {
    process.kill(Number(readFileSync(join(lock, "pid"), "utf8")), 0);
    return true;
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    // EPERM: it lives and is another user's. ENOENT: it has made the folder and not yet written its pid.
    return code === "EPERM" || code === "ENOENT";
  }
}
