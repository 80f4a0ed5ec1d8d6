// Where a webhook listens: at its own url, or behind a Service. Without a cluster network a Service leads only where it
// says so itself: an external name, an address, or endpoints that somebody wrote. The certificate is for its name.
import { dig, digList, digString, isObject } from "../json.ts";
import type { Store } from "../store/store.ts";
import type { Webhook } from "./webhook.ts";

export interface AdmissionTarget {
  readonly url: string;
  /** The name that the certificate must have, where it is not the url's. */
  readonly serverName?: string;
  /** How to reach it, where that is not the url's host and port. */
  readonly host?: string;
  readonly port?: number;
}

/** Throws a sentence in the real server's words where there is no way. */
export function targetOf({ url, service, timeoutMs }: Webhook, store: Store): AdmissionTarget {
  if (service === undefined) return { url: url ?? "" };
  const { namespace, name, path, port } = service;
  const serverName = `${name}.${namespace}.svc`;
  const full = `https://${serverName}:${port}${path}`;
  const fail = (why: string): never => {
    throw new Error(`Post "${full}?timeout=${timeoutMs / 1000}s": ${why}`);
  };
  const found = store.get({ resource: "/services", namespace, name })?.object;
  if (found === undefined) return fail(`service ${JSON.stringify(name)} not found`);
  const ports = digList(found, "spec", "ports").filter(isObject);
  const external = digString(found, "spec", "externalName");
  if (external !== undefined) return { url: full, serverName, host: external, port };
  if (!ports.some((each) => each["port"] === port)) {
    return fail(`no service port ${port} found for service ${JSON.stringify(name)}`);
  }
  const endpoints = store.get({ resource: "/endpoints", namespace, name })?.object;
  for (const subset of digList(endpoints ?? {}, "subsets")) {
    const address = digString(digList(subset, "addresses")[0], "ip");
    const behind = dig(digList(subset, "ports")[0], "port");
    if (address !== undefined && typeof behind === "number")
      return { url: full, serverName, host: address, port: behind };
  }
  const own = digString(found, "spec", "clusterIP") ?? "";
  if (own !== "" && own !== "None") return { url: full, serverName, host: own, port };
  return fail(`no endpoints available for service ${JSON.stringify(name)}`);
}
