// One ovsdb-server with one database, as a component of the lab.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { run } from "../command.ts";
import { Component } from "../component.ts";
import type { Place } from "../place.ts";
import { answers } from "../socket.ts";
import type { StateFile } from "../state.ts";
import type { OvnPrograms } from "./packages.ts";

export interface DatabaseServerPlan {
  readonly name: "nb" | "sb" | "switch";
  readonly folder: string;
  readonly place: Place;
  readonly programs: OvnPrograms;
  readonly state: StateFile;
  /** Beside its unix socket. */
  readonly remote?: string;
}

const schemas = { nb: "ovn-nb", sb: "ovn-sb", switch: "vswitch" } as const;

export function socketOf({ folder, name }: Pick<DatabaseServerPlan, "folder" | "name">): string {
  return join(folder, `${name}.sock`);
}

export async function startDatabase(plan: DatabaseServerPlan, signal?: AbortSignal): Promise<Component> {
  const { name, folder, place, programs, state, remote } = plan;
  mkdirSync(folder, { recursive: true });
  const at = (suffix: string) => join(folder, `${name}.${suffix}`);
  await run(programs.command("ovsdb-tool", "create", at("db"), programs.schema(schemas[name])));
  const remotes = [`punix:${socketOf(plan)}`, ...(remote === undefined ? [] : [remote])];
  const words = remotes.map((each) => `--remote=${each}`);
  const component = new Component(
    {
      name: `ovsdb-server (${name})`,
      command: programs.daemon(folder, "ovsdb-server", at("db"), ...words, `--unixctl=${at("ctl")}`),
      place,
      logFile: at("log"),
      isReady: () => answers(socketOf(plan)),
    },
    state,
  );
  await component.start(signal);
  return component;
}
