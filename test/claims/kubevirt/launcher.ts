// A launcher pod and its sandbox, as the node that runs it knows them.
import type { Scheme } from "./names.ts";
import type { Element } from "./objects.ts";

/** One interface of one sandbox: what a CNI call is about. */
export interface Port {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly node: string;
  /** A sandbox that failed is followed by one with another id. */
  readonly container: string;
  readonly element: Element;
}

export class Launcher {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Of the VMI. */
  readonly vmiUid: string;
  readonly scheme: Scheme;
  /** Empty: not bound yet. */
  node = "";
  /** Pending, Running, Succeeded, Failed; Gone: there is no object. */
  phase: "Pending" | "Running" | "Succeeded" | "Failed" | "Gone" = "Pending";
  /** Key: the interface's name. What was answered to its ADD. */
  readonly attached = new Map<string, { readonly port: Port; readonly addresses: readonly string[] }>();
  /** It is told to end: an ADD that is being tried is given up. */
  readonly ending = new AbortController();
  #sandboxes = 0;

  constructor(at: Pick<Launcher, "namespace" | "name" | "uid" | "vmiUid" | "scheme">) {
    this.namespace = at.namespace;
    this.name = at.name;
    this.uid = at.uid;
    this.vmiUid = at.vmiUid;
    this.scheme = at.scheme;
  }

  get isLive(): boolean {
    return this.phase === "Pending" || this.phase === "Running";
  }

  get at(): { readonly namespace: string; readonly name: string } {
    return { namespace: this.namespace, name: this.name };
  }

  /** The sandbox before has failed, or there was none. */
  nextSandbox(): void {
    this.#sandboxes += 1;
  }

  port(element: Element): Port {
    const { namespace, name: pod, uid: podUid, node } = this;
    return { namespace, pod, podUid, node, container: `${podUid}-${this.#sandboxes}`, element };
  }
}
