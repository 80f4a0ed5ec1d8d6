// The cluster's DNS service, by name: what guests are told by DHCP to ask. Where there is none they are told nothing.
import { Informer } from "../../kube/cache/informer.ts";
import type { Clock } from "../../kube/clock.ts";
import type { KubeObject } from "../../kube/meta.ts";
import { defineResource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { orNone } from "../../net/or-none.ts";

interface Service extends KubeObject {
  spec?: { clusterIP?: string; clusterIPs?: string[] };
}

const services = defineResource<Service>({ group: "", version: "v1", kind: "Service", namespaced: true });

export interface DnsServiceOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  readonly service: { readonly namespace: string; readonly name: string };
}

export class DnsService {
  readonly informer: Informer<Service>;

  constructor({ service: { namespace, name }, ...options }: DnsServiceOptions) {
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    this.informer = new Informer({ ...options, resource: services, scope });
  }

  /** One per family at the most. A service without an address of its own (`None`) has none to tell. */
  get addresses(): readonly Address[] {
    const [service] = this.informer.cache.list();
    const { clusterIPs = [], clusterIP = "" } = service?.spec ?? {};
    const texts = clusterIPs.length > 0 ? clusterIPs : [clusterIP];
    return texts.flatMap((each) => orNone(() => parseAddress(each)) ?? []);
  }
}
