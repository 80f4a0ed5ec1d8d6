// Where a process runs: on the machine itself, in a network namespace, or inside a node.

export interface Place {
  wrap(command: readonly string[]): string[];
  /** The wrapper stays and the program is its child: a pid namespace is entered by forking. */
  readonly forks: boolean;
}

export const onTheMachine: Place = { wrap: (command) => [...command], forks: false };

/** `nsenter --net` and not `ip netns exec`, which would hide /sys/fs/cgroup. */
export function inNetworkOf(pid: number): Place {
  return { wrap: (command) => ["nsenter", `--net=/proc/${pid}/ns/net`, "--", ...command], forks: false };
}

export function inNamespaceAt(path: string): Place {
  return { wrap: (command) => ["nsenter", `--net=${path}`, "--", ...command], forks: false };
}

/** All namespaces of a node, by its init. */
export function insideOf(pid: number): Place {
  const enter = ["nsenter", `--target=${pid}`, "--mount", "--pid", "--net", "--uts", "--"];
  return { wrap: (command) => [...enter, ...command], forks: true };
}

const unshare = ["unshare", "--net", "--mount", "--mount-proc", "--uts", "--pid", "--fork", "--kill-child=KILL", "--"];

/** A node that is about to begin: the command becomes the init of new namespaces; everything in them dies with it. */
export const asNewNode: Place = { wrap: (command) => [...unshare, ...command], forks: true };

/** The program is killed when whoever started it dies, however that happens. */
export function dyingWithParent(command: readonly string[]): string[] {
  return ["setpriv", "--pdeathsig", "KILL", "--", ...command];
}
