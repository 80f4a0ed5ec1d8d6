// The entry of the delegating plugin: CNI's environment and standard input in, a result or an error object out.
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";

import { Rest } from "../rest.ts";
import { addNetworks, checkNetworks, deleteNetworks, type PluginSettings, type Sandbox } from "./plugin.ts";

/** Codes from 100 on are a plugin's own, by the CNI specification. */
const failed = 100;
const supportedVersions = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

interface Kubeconfig {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly "certificate-authority-data": string } },
  ];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
}

const env = (name: string) => process.env[name] ?? "";

async function serve(): Promise<unknown> {
  const settings = JSON.parse(await text(process.stdin)) as PluginSettings;
  const sandbox: Sandbox = {
    containerId: env("CNI_CONTAINERID"),
    netns: env("CNI_NETNS"),
    interface: env("CNI_IFNAME"),
    args: env("CNI_ARGS"),
    path: env("CNI_PATH"),
  };
  switch (env("CNI_COMMAND")) {
    case "ADD":
      return addNetworks(sandbox, settings, connect(settings.kubeconfig));
    case "DEL":
      return deleteNetworks(sandbox);
    case "CHECK":
      return checkNetworks(sandbox);
    case "VERSION":
      return { cniVersion: settings.cniVersion, supportedVersions };
    default:
      return undefined; // STATUS and GC: nothing to say, nothing to collect
  }
}

function connect(file: string): Rest {
  const { clusters, users } = JSON.parse(readFileSync(file, "utf8")) as Kubeconfig;
  const { server, "certificate-authority-data": ca } = clusters[0].cluster;
  return new Rest({ url: server, ca: Buffer.from(ca, "base64").toString(), token: users[0].user.token });
}

try {
  const answer = await serve();
  if (answer !== undefined) process.stdout.write(JSON.stringify(answer));
  process.exitCode = 0;
} catch (error) {
  process.stdout.write(JSON.stringify({ cniVersion: "1.0.0", code: failed, msg: (error as Error).message }));
  process.exitCode = 1;
}
