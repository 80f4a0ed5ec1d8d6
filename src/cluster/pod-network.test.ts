// The annotation as ovn-kubernetes was seen to write it (1.3, dual stack), read and written again.
import { expect, it } from "vitest";

import { networkEntry, readPodNetwork, writePodNetworks } from "./pod-network.ts";

const observed =
  '{"default":{"ip_addresses":["10.244.0.4/24","fd10:244:0:1::4/64"],"mac_address":"0a:58:0a:f4:00:04",' +
  '"gateway_ips":["10.244.0.1","fd10:244:0:1::1"],"routes":[{"dest":"10.244.0.0/16","nextHop":"10.244.0.1"},' +
  '{"dest":"10.96.0.0/16","nextHop":"10.244.0.1"},{"dest":"169.254.169.5/32","nextHop":"10.244.0.1"},' +
  '{"dest":"fd10:244::/48","nextHop":"fd10:244:0:1::1"}],"role":"primary"}}';
const single =
  '{"default":{"ip_addresses":["192.168.0.5/24"],"mac_address":"0a:58:c0:a8:00:05","gateway_ips":["192.168.0.1"],' +
  '"ip_address":"192.168.0.5/24","gateway_ip":"192.168.0.1"}}';

it.each([observed, single])("what is read is written byte for byte", (text) => {
  expect(writePodNetworks(undefined, networkEntry(readPodNetwork(text)!))).toBe(text);
});

it("addresses come with the subnet that they were taken from", () => {
  const { addresses, mac, gateways } = readPodNetwork(observed)!;
  expect(addresses.map(({ address, prefix }) => `${address} of ${prefix}`)).toEqual([
    "10.244.0.4 of 10.244.0.0/24",
    "fd10:244:0:1::4 of fd10:244:0:1::/64",
  ]);
  expect([mac, ...gateways.map(String)]).toEqual(["0a:58:0a:f4:00:04", "10.244.0.1", "fd10:244:0:1::1"]);
});

it("the fields of a time before lists are enough", () => {
  const text =
    '{"default":{"mac_address":"0a:58:c0:a8:00:05","ip_address":"192.168.0.5/24","gateway_ip":"192.168.0.1"}}';
  expect(readPodNetwork(text)).toMatchObject({ gateways: [{ value: 0xc0a8_0001 }] });
});

it("an entry is passed on with fields that nobody here knows, beside entries of other networks", () => {
  const entry = { ...readPodNetwork(observed)!.entry, tunnel_id: 7, later: "<&>" };
  const text = writePodNetworks('{"shop/blue":{"mac_address":"02:00:00:00:00:01"},"a/b":{}}', entry);
  expect(Object.keys(JSON.parse(text) as object)).toEqual(["a/b", "default", "shop/blue"]);
  expect(text).toContain('"tunnel_id":7,"later":"\\u003c\\u0026\\u003e"');
  expect(readPodNetwork(text)!.entry).toEqual(entry);
});

it.each([
  ["no annotation", undefined],
  ["no JSON", "{"],
  ["no default network", '{"shop/blue":{"mac_address":"02:00:00:00:00:01","ip_address":"10.0.0.1/24"}}'],
  ["no address", '{"default":{"mac_address":"02:00:00:00:00:01"}}'],
  ["no MAC", '{"default":{"ip_addresses":["10.0.0.1/24"]}}'],
  ["no length", '{"default":{"ip_addresses":["10.0.0.1"],"mac_address":"02:00:00:00:00:01"}}'],
  ["two of a family", '{"default":{"ip_addresses":["10.0.0.1/24","10.0.0.2/24"],"mac_address":"02:00:00:00:00:01"}}'],
  ["a list", "[]"],
])("with %s there is nothing to go by", (_, text) => {
  expect(readPodNetwork(text)).toBeUndefined();
});
