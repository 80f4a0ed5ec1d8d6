// What an API server was asked, and by whom: its own audit log, at the level of metadata.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface AuditedRequest {
  readonly user: string;
  /** As the server calls it: get, list, watch, create, update, patch, delete. */
  readonly verb: string;
  readonly uri: string;
  readonly resource: string;
  readonly code: number;
}

interface AuditEvent {
  readonly fixture: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string };
  readonly responseStatus?: { readonly code?: number };
}

export class AuditLog {
  readonly #folder = mkdtempSync(join(tmpdir(), "holdfast-audit-"));
  readonly #file = join(this.#folder, "audit.log");

  /** For kube-apiserver. Blocking: a request is in the log before it is answered. */
  get apiserverArgs(): string[] {
    const policy = join(this.#folder, "policy.json");
    const rules = [{ level: "Metadata" }];
    const omitStages = ["RequestReceived"];
    writeFileSync(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules, omitStages }));
    return [
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${this.#file}`,
      "--audit-log-mode=blocking",
      "--audit-log-maxsize=1024",
    ];
  }

  /** A watch is there from its beginning, and once more when it ends. */
  requests(): AuditedRequest[] {
    return readFileSync(this.#file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as AuditEvent)
      .map((event) => ({
        user: event.user.username,
        verb: event.verb,
        uri: decodeURIComponent(event.requestURI),
        resource: event.objectRef?.resource ?? "",
        code: event.responseStatus?.code ?? 0,
      }));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
