// An older copy of etcd's data, taken and restored beneath a living control plane, as an administrator does it: nothing
// runs on the data meanwhile, and whoever follows the API server lives through it.
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";

import type { Cluster } from "./cluster.ts";

export interface EtcdCopy {
  readonly take: () => Promise<void>;
  readonly restore: () => Promise<void>;
}

export function etcdCopy(lab: Cluster): EtcdCopy {
  const [data, copy] = [join(lab.folder, "etcd"), join(lab.folder, "etcd-copy")];
  const stopped = async (work: () => void) => {
    await lab.controllerManager.kill();
    await lab.apiserver.kill();
    await lab.etcd.kill();
    work();
    await lab.etcd.start();
    await lab.apiserver.start();
    await lab.controllerManager.start();
  };
  return {
    take: () => stopped(() => cpSync(data, copy, { recursive: true })),
    restore: () =>
      stopped(() => {
        rmSync(data, { recursive: true });
        cpSync(copy, data, { recursive: true });
      }),
  };
}
