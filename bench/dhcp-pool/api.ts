// The API server of this benchmark, a child process: started with our kinds, filled while no controller runs.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { SeedPlan } from "./seeding.ts";

export type ApiMessage = { readonly said: "ready" | "seeded" } | { readonly said: "failed"; readonly why: string };

const program = fileURLToPath(new URL("api-main.ts", import.meta.url));

export class ApiProcess implements AsyncDisposable {
  readonly kubeconfig: string;
  readonly #child: ChildProcess;

  private constructor(folder: string) {
    this.kubeconfig = join(folder, "kubeconfig");
    const args = [join(folder, "api.sqlite"), this.kubeconfig];
    this.#child = fork(program, args, { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  }

  static async start(folder: string): Promise<ApiProcess> {
    const api = new ApiProcess(folder);
    await api.#answer();
    return api;
  }

  async seed(plan: SeedPlan): Promise<void> {
    this.#child.send(plan);
    await this.#answer();
  }

  async #answer(): Promise<void> {
    const ended = new AbortController();
    this.#child.once("exit", () => ended.abort(new Error("the API server has ended")));
    const [message] = (await once(this.#child, "message", { signal: ended.signal })) as [ApiMessage];
    if (message.said === "failed") throw new Error(`the API server could not be filled: ${message.why}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.disconnect();
    await gone;
  }
}
