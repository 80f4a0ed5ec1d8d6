// A zone's control plane: northbound, southbound, northd. One for all nodes, or one on each node.
import { join } from "node:path";

import { type RemoteNode, Southbound } from "../../../src/ovn/southbound/southbound.ts";
import { bindings, chassis, southbound, southboundTables } from "../../../src/ovn/southbound/tables.ts";
import { Operations } from "../../../src/ovsdb/operations/operation.ts";
import { Component } from "../component.ts";
import type { Place } from "../place.ts";
import { answers } from "../socket.ts";
import type { StateFile } from "../state.ts";
import { LabClient } from "./client.ts";
import { socketOf, startDatabase } from "./database-server.ts";
import type { OvnPrograms } from "./packages.ts";

export interface ZonePlan {
  readonly name: string;
  readonly folder: string;
  readonly place: Place;
  readonly programs: OvnPrograms;
  readonly state: StateFile;
  /** Where chassis of other machines reach the southbound database; on a node of its own they need no such place. */
  readonly southboundRemote?: string;
}

const sb = new Operations(southbound);

export class Zone {
  readonly name: string;
  readonly southbound: LabClient;
  readonly northd: Component;
  readonly #folder: string;

  private constructor(plan: ZonePlan, client: LabClient, northd: Component) {
    this.name = plan.name;
    this.#folder = plan.folder;
    this.southbound = client;
    this.northd = northd;
  }

  static async start(plan: ZonePlan, signal?: AbortSignal): Promise<Zone> {
    const { name, folder, place, programs, state, southboundRemote } = plan;
    await Promise.all([
      startDatabase({ ...plan, name: "nb" }, signal),
      startDatabase({ ...plan, name: "sb", ...(southboundRemote && { remote: southboundRemote }) }, signal),
    ]);
    const at = (database: "nb" | "sb") => `unix:${socketOf({ folder, name: database })}`;
    const control = join(folder, "northd.ctl");
    const databases = [`--ovnnb-db=${at("nb")}`, `--ovnsb-db=${at("sb")}`, `--unixctl=${control}`];
    const northd = new Component(
      {
        name: `ovn-northd (${name})`,
        command: programs.daemon(folder, "ovn-northd", ...databases),
        place,
        logFile: join(folder, "northd.log"),
        isReady: () => answers(control),
      },
      state,
    );
    await northd.start(signal);
    return new Zone(plan, await LabClient.open(southbound, at("sb"), southboundTables, signal), northd);
  }

  get northboundEndpoint(): string {
    return `unix:${socketOf({ folder: this.#folder, name: "nb" })}`;
  }

  get southboundEndpoint(): string {
    return `unix:${socketOf({ folder: this.#folder, name: "sb" })}`;
  }

  async hasChassis(name: string, signal?: AbortSignal): Promise<void> {
    const look = () => this.southbound.ovsdb.rows(chassis).by("name", name)[0];
    await this.southbound.until(`chassis ${name} in the zone ${this.name}`, look, signal);
  }

  /** The nodes of other zones, and where ports of them are: tunnels then lead there. */
  async knows(remotes: readonly RemoteNode[], signal?: AbortSignal): Promise<void> {
    await new Southbound(this.southbound.ovsdb).apply(remotes, signal);
  }

  /** A node that is no more: nobody waits for it, and no tunnel leads there. */
  async removeChassis(name: string): Promise<void> {
    await this.southbound.ovsdb.transact([
      sb.delete("Chassis", [["name", "==", name]]),
      sb.delete("Chassis_Private", [["name", "==", name]]),
    ]);
  }

  /** Where the port is bound, and where it may be bound besides while a VM moves. */
  chassisOf(port: string): { main: string | undefined; additional: string[] } {
    const { ovsdb } = this.southbound;
    const [binding] = ovsdb.rows(bindings).by("port", port);
    const names = new Map([...ovsdb.rows(chassis).list()].map((row) => [row.uuid, row.name]));
    return {
      main: binding?.chassis && names.get(binding.chassis),
      additional: [...(binding?.additional_chassis ?? [])].flatMap((uuid) => names.get(uuid) ?? []),
    };
  }

  async close(): Promise<void> {
    await this.southbound.close();
  }
}
