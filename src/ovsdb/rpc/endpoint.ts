// Where a server listens, as Open vSwitch writes it: unix:/path, tcp:host:port, ssl:host:port; several with commas.
import { OvsdbError } from "../error.ts";

export type Endpoint =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tcp" | "ssl"; readonly host: string; readonly port: number };

export function parseEndpoints(text: string): readonly Endpoint[] {
  return text.split(",").map((each) => parseEndpoint(each.trim()));
}

function parseEndpoint(text: string): Endpoint {
  const path = /^unix:(.+)$/.exec(text)?.[1];
  if (path !== undefined) return { kind: "unix", path };
  const [, kind, bracketed, plain, port] = /^(tcp|ssl):(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw new OvsdbError(
      "bad-value",
      `"${text}" is no endpoint: write unix:/path, tcp:host:port or ssl:host:port, an IPv6 address in brackets.`,
    );
  }
  return { kind: kind as "tcp" | "ssl", host, port: Number(port) };
}

export function printEndpoint(endpoint: Endpoint): string {
  if (endpoint.kind === "unix") return `unix:${endpoint.path}`;
  const { kind, host, port } = endpoint;
  return `${kind}:${host.includes(":") ? `[${host}]` : host}:${port}`;
}
