// A virtual machine with a real kernel, under QEMU without KVM: NICs on taps, a shell over its console, its monitor.
//
// Promised: when start() or reset() resolves the guest takes commands; when close() resolves QEMU has ended. QEMU dies
// with this process, and has no file or socket but its image, which is the caller's folder's.
// Not promised: a disk; anything in its memory after reset(); speed (a boot takes 3 s of one core).
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";

import { dyingWithParent, type Place } from "../place.ts";
import { GuestConsole } from "./console.ts";
import type { CpioFile } from "./cpio.ts";
import { guestImage, readyWord } from "./image.ts";
import { GuestKernel } from "./kernel.ts";
import { consoleFd, machineCommand, monitorFd, type Nic } from "./machine.ts";
import { Qmp } from "./qmp.ts";

export interface GuestPlan {
  readonly name: string;
  /** The namespace with its taps. */
  readonly place: Place;
  readonly nics: readonly Nic[];
  /** Its image is written here. */
  readonly folder: string;
  /** Beside those of the NICs. */
  readonly modules?: readonly string[];
  /** A `boot.sh` among them is run at every boot; what it says is in /run/boot.log. */
  readonly files?: readonly CpioFile[];
  /** It takes over the memory of a guest with the same plan (`migrate-incoming`), and boots nothing. */
  readonly waits?: true;
}

/** Fifty times what a boot takes of a free core, which is 3 s. 60 s were too few at nice 19 beside a load of 20. */
export const bootTimeoutMs = 150_000;

export class Guest {
  readonly console: GuestConsole;
  readonly qmp: Qmp;
  readonly #child: ChildProcess;
  readonly #ended = new AbortController();

  private constructor(child: ChildProcess) {
    this.#child = child;
    let words = "";
    child.stderr?.on("data", (text) => (words += String(text)));
    child.once("error", (cause) => this.#ended.abort(new Error(`QEMU could not be started: ${cause.message}`)));
    child.once("close", (code) => this.#ended.abort(new Error(`QEMU has ended (${code}): ${words}`)));
    this.console = new GuestConsole(child.stdio[consoleFd] as Duplex, this.#ended.signal);
    this.qmp = new Qmp(child.stdio[monitorFd] as Duplex);
  }

  static async start(plan: GuestPlan): Promise<Guest> {
    const kernel = new GuestKernel();
    const image = join(plan.folder, `${plan.name}.cpio`);
    writeFileSync(image, guestImage(kernel, plan));
    const command = plan.place.wrap(machineCommand(kernel.image, image, plan.nics, plan.waits));
    const [program = "", ...args] = dyingWithParent(command);
    const guest = new Guest(spawn(program, args, { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"], cwd: "/" }));
    try {
      await guest.qmp.execute("qmp_capabilities");
      if (!plan.waits) await guest.#boots(0);
      return guest;
    } catch (error) {
      await guest.close();
      throw error;
    }
  }

  /** The output of a command in the guest; any status but 0 throws. */
  async run(command: string): Promise<string> {
    const { status, output } = await this.console.run(command);
    if (status !== 0) throw new Error(`${command} ended with ${status} in the guest: ${output.trim()}`);
    return output;
  }

  /** As the button of a machine: nothing in the guest is told. */
  async reset(): Promise<void> {
    const from = this.console.printed.length;
    await this.qmp.execute("system_reset");
    await this.#boots(from);
  }

  /** One that fails tells QEMU's own time: 3 s or more is a boot that hangs, less is a machine that is too busy. */
  async #boots(from: number): Promise<void> {
    try {
      await this.console.says(readyWord, from, bootTimeoutMs);
    } catch (cause) {
      throw new Error(`QEMU has used ${processorSeconds(this.#child.pid!)} s of a core. ${String(cause)}`, { cause });
    }
  }

  async close(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const ended = once(this.#ended.signal, "abort");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** In /proc/PID/stat, behind the name: user and system time, in ticks of 10 ms. */
function processorSeconds(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return ((Number(fields[11]) + Number(fields[12])) / 100).toFixed(1);
  } catch {
    return "(ended)";
  }
}
