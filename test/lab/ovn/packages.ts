// OVN and Open vSwitch of two Debian releases, unpacked beside the system with every library that they need, down to
// libc: they run by their own loader, whatever release the machine is. Nothing is installed, so no service starts.
//
// apt does the work, with a state of its own below the cache and the mirror that the machine's own sources name.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { cacheRoot } from "../../../tools/kube/cache.ts";
import { acquireLock } from "../../../tools/kube/lock.ts";
import { run } from "../command.ts";

export type OvnVersion = "23.03" | "25.03";
export const ovnVersions: readonly OvnVersion[] = ["23.03", "25.03"];

/** Key: OVN's version. Its Debian release stays the same one for ever; the day's patch level does not. */
const releases: Readonly<Record<OvnVersion, string>> = { "23.03": "bookworm", "25.03": "trixie" };
const wanted = ["ovn-central", "ovn-host", "openvswitch-switch"];
const program =
  /^(?:ovn-(?:northd|controller|nbctl|sbctl|trace|appctl)|ovs-(?:vswitchd|ofctl|appctl)|ovsdb-(?:server|tool|client))$/;
const schema = /^(?:ovn-nb|ovn-sb|vswitch)\.ovsschema$/;
const triplet = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
const loader = process.arch === "arm64" ? "ld-linux-aarch64.so.1" : "ld-linux-x86-64.so.2";

export class OvnPrograms {
  readonly version: OvnVersion;
  readonly #folder: string;

  constructor(version: OvnVersion) {
    this.version = version;
    this.#folder = folderOf(version);
  }

  command(name: string, ...args: readonly string[]): string[] {
    const at = join(this.#folder, "programs", name);
    return [join(this.#folder, "libraries", loader), "--library-path", join(this.#folder, "libraries"), at, ...args];
  }

  /** The same for a daemon, whose sockets are in this folder: the two programs of a node find each other there. */
  daemon(folder: string, name: string, ...args: readonly string[]): string[] {
    return ["env", `OVS_RUNDIR=${folder}`, `OVN_RUNDIR=${folder}`, ...this.command(name, ...args, "-vconsole:warn")];
  }

  schema(name: "ovn-nb" | "ovn-sb" | "vswitch"): string {
    return join(this.#folder, "schemas", `${name}.ovsschema`);
  }
}

/** Throws with the reason and the remedy where it cannot be had. The first time takes 40 s and 45 MB of download. */
export async function ensureOvn(version: OvnVersion, log: (line: string) => void = () => {}): Promise<OvnPrograms> {
  const folder = folderOf(version);
  if (existsSync(folder)) return new OvnPrograms(version);
  mkdirSync(join(folder, ".."), { recursive: true });
  const release = await acquireLock(`${folder}.lock`);
  try {
    if (!existsSync(folder)) await make(version, folder, log); // another one may have made it meanwhile
  } finally {
    await release();
  }
  return new OvnPrograms(version);
}

async function make(version: OvnVersion, folder: string, log: (line: string) => void): Promise<void> {
  log(`unpacking OVN ${version} (Debian ${releases[version]}) into ${folder}`);
  const work = mkdtempSync(`${folder}.`);
  try {
    collect(await unpack(await download(version, work), work), join(work, "whole"));
    renameSync(join(work, "whole"), folder); // whole or not at all
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function folderOf(version: OvnVersion): string {
  return join(cacheRoot(), "debian", `ovn-${version}`);
}

/** The folder with the archives of the three packages and of all that they need. */
async function download(version: OvnVersion, work: string): Promise<string> {
  const at = (...names: readonly string[]) => join(work, "apt", ...names);
  for (const folder of ["lists/partial", "cache/archives/partial"]) mkdirSync(at(folder), { recursive: true });
  writeFileSync(at("status"), ""); // nothing is there, so that nothing is left out
  const key = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg";
  writeFileSync(at("sources.list"), `deb [${key}] ${await mirror()} ${releases[version]} main\n`);
  const settings = {
    "Dir::Etc::sourcelist": at("sources.list"),
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State::lists": at("lists"),
    "Dir::State::status": at("status"),
    "Dir::Cache": at("cache"),
    "Acquire::Languages": "none",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    "APT::Install-Recommends": "false",
    "APT::Sandbox::User": "root",
  };
  writeFileSync(
    at("apt.conf"),
    Object.entries(settings)
      .map(([name, value]) => `${name} "${value}";\n`)
      .join(""),
  );
  const env = { ...process.env, APT_CONFIG: at("apt.conf"), DEBIAN_FRONTEND: "noninteractive" };
  await apt(["update", "-q"], env);
  await apt(["install", "-y", "-q", "--download-only", ...wanted], env);
  return at("cache", "archives");
}

/** Where the machine gets Debian itself from. */
async function mirror(): Promise<string> {
  const ask = ["indextargets", "--format", "$(LABEL) $(REPO_URI)", "Identifier: Packages"];
  const find = async () => /^Debian (\S+)$/m.exec(await apt(ask))?.[1];
  const found = (await find()) ?? (await apt(["update", "-q"]), await find());
  if (found !== undefined) return found;
  throw new Error("apt knows no mirror of Debian, where OVN comes from: see /etc/apt/sources.list.d");
}

async function unpack(archives: string, work: string): Promise<string> {
  const files = join(work, "files");
  for (const archive of readdirSync(archives).filter((name) => name.endsWith(".deb")))
    await run(["dpkg-deb", "-x", join(archives, archive), files]);
  return files;
}

/** Of 200 MB, the 30 that are of use: programs, schemas, libraries. */
function collect(files: string, whole: string): void {
  const copy = (from: string, folder: string) =>
    cpSync(from, join(whole, folder, basename(from)), { verbatimSymlinks: true });
  for (const folder of [`lib/${triplet}`, `usr/lib/${triplet}`]) {
    const names = existsSync(join(files, folder)) ? readdirSync(join(files, folder)) : [];
    for (const name of names.filter((each) => /\.so(?:\.|$)/.test(each))) copy(join(files, folder, name), "libraries");
  }
  for (const folder of ["usr/bin", "usr/sbin", "usr/lib/openvswitch-switch", "usr/share/ovn", "usr/share/openvswitch"])
    for (const name of readdirSync(join(files, folder))) {
      if (program.test(name)) copy(join(files, folder, name), "programs");
      if (schema.test(name)) copy(join(files, folder, name), "schemas");
    }
}

async function apt(words: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  try {
    return await run(["apt-get", ...words], { env });
  } catch (cause) {
    throw new Error(`OVN comes from Debian by apt: ${String(cause)}`, { cause });
  }
}
