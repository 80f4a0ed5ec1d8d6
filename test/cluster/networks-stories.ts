// What a runtime may ask of a delegating plugin, told once for ours and for the real Multus.
import type { Story } from "../lab/networks/story.ts";

const asked = JSON.stringify([
  {
    name: "list",
    ips: ["10.1.0.77/24"],
    mac: "02:00:00:00:00:77",
    interface: "lan0",
    "cni-args": { vlan: 7, a: "<b>" },
  },
  {
    name: "old",
    namespace: "pods",
    ips: ["10.42.0.9", "fd00::9"],
    mac: "02:00:00:00:00:78",
    "cni-args": { n: 1 },
    "ipam-claim-reference": "vm.old",
  },
]);

export const stories: Readonly<Record<string, Story>> = {
  "a pod that asks for nothing": { networks: "", commands: ["ADD", "CHECK", "DEL", "DEL"] },
  "two networks in the short form, deleted twice": {
    networks: "list, pods/old@second",
    commands: ["ADD", "CHECK", "DEL", "DEL"],
  },
  "addresses, MACs, arguments and a claim's reference": { networks: asked, commands: ["ADD", "DEL"] },
  "addresses beside a claim's reference, and one interface twice": {
    networks: JSON.stringify([
      { name: "list", interface: "a", ips: ["10.1.0.9"], "ipam-claim-reference": "vm.list" },
      { name: "old", interface: "a" },
    ]),
    commands: ["ADD", "DEL"],
  },
  "a definition without name and version": { networks: "bare", commands: ["ADD", "DEL"] },
  "a plugin that fails takes everything back": { networks: "list,bad,old", commands: ["ADD", "DEL"] },
  "a plugin that is not there": { networks: "list,absent", commands: ["ADD", "DEL"] },
  "a definition that is not there": { networks: "list,gone", commands: ["ADD", "DEL"] },
  "another namespace's definition": { networks: "other/far", commands: ["ADD", "DEL"] },
  "another namespace's definition under isolation": {
    networks: "other/far",
    settings: { namespaceIsolation: true, globalNamespaces: "default" },
    commands: ["ADD", "DEL"],
  },
  "a DEL that fails in the middle of a list, and again": {
    networks: "list,old",
    failing: ["DEL second"],
    commands: ["ADD", "DEL", "DEL"],
  },
  "a DEL that fails, and then the pod is gone: it never comes again": {
    networks: "list,old",
    failing: ["DEL third"],
    commands: ["ADD", "DEL", "DEL"],
    podGoneAfter: 2,
  },
  "a DEL of a pod that is gone already": { networks: "list", commands: ["ADD", "DEL"], podGoneAfter: 1 },
  "an ADD of a pod that is gone already": { networks: "list", commands: ["ADD", "DEL"], podGoneAfter: 0 },
};
