// What an agent is told to serve: `NAMESPACE/NAME=INTERFACE`, a network with all of its pools, or one pool. Pure.
import type { ObjectKey } from "../kube/meta.ts";
import { AgentError } from "./error.ts";

export interface Target {
  readonly kind: "network" | "pool";
  /** namespace/name of the NetworkAttachmentDefinition, or of the pool. */
  readonly key: ObjectKey;
  readonly interface: string;
}

/** The kernel's rule for names of interfaces: 15 bytes, neither slash nor space. */
const form = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\/[a-z0-9]([-.a-z0-9]*[a-z0-9])?)=([^\s/=]{1,15})$/;

export function parseTarget(kind: Target["kind"], text: string): Target {
  const [, key, , , interfaceName] = form.exec(text) ?? [];
  if (key !== undefined && interfaceName !== undefined) return { kind, key, interface: interfaceName };
  const words = `--${kind} ${text} cannot be read: write NAMESPACE/NAME=INTERFACE, like default/net-48=eth1.`;
  throw new AgentError("bad-target", words);
}

/** One interface is one network's, and a network has one interface. */
export function checkTargets(targets: readonly Target[]): void {
  if (targets.length === 0) {
    throw new AgentError("bad-target", "An agent needs a network to serve: give --network or --pool at least once.");
  }
  const keys = new Set(targets.map(({ kind, key }) => `${kind} ${key}`));
  if (keys.size < targets.length)
    throw new AgentError("bad-target", "A network or a pool is given twice: leave one out.");
  const interfaces = new Set<string>();
  for (const { kind, interface: name } of targets) {
    if (kind === "network" && interfaces.has(name)) {
      throw new AgentError("bad-target", `Interface ${name} is given to two networks: a network has one of its own.`);
    }
    interfaces.add(name);
  }
}
