// Our kinds on the real kube-apiserver.
import { expect, it } from "vitest";

import type { Cluster } from "../../lab/cluster.ts";
import { cluster } from "../../lab/start.ts";
import { get } from "../api/call.ts";
import { kindsConformance } from "./suite.ts";

let lab: Cluster;

async function start() {
  lab = await cluster();
  const { url, token, ca } = lab.access;
  return { url, token, caPem: ca, stop: () => lab.stop() };
}

kindsConformance("kube-apiserver", start, (api) => {
  const pools = "/apis/whereabouts.cni.cncf.io/v1alpha1/ippools";
  const rules = [{ apiGroups: ["whereabouts.cni.cncf.io"], resources: ["ippools"], verbs: ["list"] }];

  it.each([
    ["holdfast-node", "kube-system", ["holdfast"]],
    ["holdfast-controller", "kube-system", ["holdfast-controller"]],
    ["somebody-else", "kube-system", []],
  ])("%s of %s is queued by our schemas %s", async (name, namespace, expected) => {
    const client = await lab.clientFor({ name, namespace, rules });
    const reply = await api().as(client.token).send(get(pools));
    expect(reply.status).toBe(200);
    const path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
    const ours = await Promise.all(
      ["holdfast", "holdfast-controller"].map((each) => api().done(get(`${path}/${each}`))),
    );
    const used = ours.filter(({ metadata }) => metadata.uid === reply.headers["x-kubernetes-pf-flowschema-uid"]);
    expect(used.map(({ metadata }) => metadata.name)).toEqual(expected);
  });

  it("kubectl prints the columns under the short name", async () => {
    const printed = await lab.kubectl(["get", "ipp", "red-fd00---64", "--namespace=default"]);
    expect(printed).toMatch(/NAME\s+RANGE\s+TOTAL\s+USED\s+FREE\s+READY\s+AGE/);
    expect(printed).toMatch(/red-fd00---64\s+fd00::\/64\s+18446744073709551614\s+1\s+18446744073709551613\s+True/);
  });
});
