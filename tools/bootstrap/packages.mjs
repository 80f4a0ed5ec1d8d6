// npm packages: installed when, and only when, the lock file is not the one that was installed last.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** An install that holds the lock for longer counts as dead: npm ci takes 30 s here, 10 minutes on a bad line. */
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
 * Two commands in a fresh clone must not both run npm ci. The lock is a folder (mkdir is atomic) with the holder's pid.
 * @param {string} root
 * @param {(line: string) => void} log
 */
async function lockInstall(root, log) {
  const lock = join(root, ".cache", "install.lock");
  mkdirSync(join(root, ".cache"), { recursive: true });
  const release = () => rmSync(lock, { recursive: true, force: true });
  const startedMs = Date.now();
  let told = false;
  for (;;) {
    if (makeFolder(lock)) {
      writeFileSync(join(lock, "pid"), String(process.pid));
      return release;
    }
    const holder = holderOf(lock);
    const patient = Date.now() - startedMs < lockPatienceMs;
    // Taken over, not removed: of several that find the same dead holder, one makes this folder.
    if (!(patient && lives(holder)) && makeFolder(join(lock, `after-${holder}`))) {
      writeFileSync(join(lock, "pid"), String(process.pid));
      return release;
    }
    if (!told) log(`holdfast: another command is installing packages (${lock}); waiting for it`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * @param {string} path
 * @returns {boolean} false where it is there already, or its parent is gone
 */
function makeFolder(path) {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    if (code === "EEXIST" || code === "ENOENT") return false;
    throw error;
  }
}

/**
 * @param {string} lock
 * @returns {number | undefined} undefined where it has made the folder and not yet written its pid, or is done
 */
function holderOf(lock) {
  try {
    return Number(readFileSync(join(lock, "pid"), "utf8")) || undefined;
  } catch {
    return undefined;
  }
}

/** @param {number | undefined} pid */
function lives(pid) {
  if (pid === undefined) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM"; // it lives and is another user's
  }
}
