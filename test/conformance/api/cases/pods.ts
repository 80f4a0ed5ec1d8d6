// Pods as the server keeps them; no kubelet is needed.
import { expect } from "vitest";

import { get, mergePatch, post, put } from "../call.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { deployment, pod } from "../fixtures.ts";
import { dig } from "../object.ts";

const binding = (name: string, node: string) => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name },
  target: { apiVersion: "v1", kind: "Node", name: node },
});

/** A pod on a node waits for its kubelet, so it is removed by force. */
const removed = (fixture: Fixture, name: string) =>
  fixture.after(async () => {
    await fixture.api.send({ method: "DELETE", path: fixture.at("pods", name), query: { gracePeriodSeconds: 0 } });
  });

const using = (resources: object) => ({ containers: [{ name: "main", image: "busybox", resources }] });

export const pods: Subject = {
  name: "pods",
  cases: {
    "a pod begins pending, with its defaults": async (fixture) => {
      expect(await fixture.make("pods", pod("a"))).toMatchObject({
        spec: {
          restartPolicy: "Always",
          terminationGracePeriodSeconds: 30,
          dnsPolicy: "ClusterFirst",
          schedulerName: "default-scheduler",
          enableServiceLinks: true,
          containers: [
            {
              name: "main",
              image: "busybox",
              imagePullPolicy: "Always",
              terminationMessagePath: "/dev/termination-log",
            },
          ],
        },
        status: { phase: "Pending", qosClass: "BestEffort" },
      });
    },
    "a pod's image with a tag is pulled only if absent": async (fixture) => {
      const made = await fixture.make("pods", pod("a", { containers: [{ name: "main", image: "busybox:1.36" }] }));
      expect(dig(made, "spec", "containers", 0, "imagePullPolicy")).toBe("IfNotPresent");
    },
    "a variable with an empty value is kept without it": async (fixture) => {
      const env = [{ name: "A", value: "" }];
      const made = await fixture.make("pods", pod("a", { containers: [{ name: "main", image: "busybox", env }] }));
      expect(dig(made, "spec", "containers", 0, "env")).toEqual([{ name: "A" }]);
    },
    "a pod template has the defaults of a pod, but for service links": async (fixture) => {
      const made = await fixture.make("deployments", deployment("a"));
      const spec = dig(made, "spec", "template", "spec");
      expect(spec).toMatchObject({ restartPolicy: "Always", dnsPolicy: "ClusterFirst" });
      expect(spec).not.toHaveProperty("enableServiceLinks");
    },
    "a pod template is validated like a pod": async (fixture) => {
      const main = { name: "main", image: "busybox" };
      const faults: [string, object[]][] = [
        ["spec.template.spec.containers[1].image", [main, { name: "side" }]],
        ["spec.template.spec.containers[1].name", [main, main]],
        ["spec.template.spec.containers", []],
      ];
      for (const [field, containers] of faults) {
        const call = post(fixture.at("deployments"), deployment("a", containers));
        const status = await fixture.api.refused(call, 422, "Invalid");
        expect(status.details?.causes?.map((cause) => cause.field)).toEqual([field]);
      }
    },
    "a binding puts a pod on a node": async (fixture) => {
      await fixture.make("pods", pod("a"));
      removed(fixture, "a");
      const answer = await fixture.api.send(post(fixture.at("pods", "a", "binding"), binding("a", "node-1")));
      expect(answer.status).toBe(201);
      expect(answer.body).toMatchObject({ kind: "Status", status: "Success" });
      const bound = await fixture.api.done(get(fixture.at("pods", "a")));
      expect(dig(bound, "spec", "nodeName")).toBe("node-1");
      expect(dig(bound, "status", "conditions")).toEqual(
        expect.arrayContaining([expect.objectContaining({ type: "PodScheduled", status: "True" })]),
      );
    },
    "a pod is bound once": async (fixture) => {
      await fixture.make("pods", pod("a"));
      removed(fixture, "a");
      await fixture.api.done(post(fixture.at("pods", "a", "binding"), binding("a", "node-1")));
      const call = post(fixture.at("pods", "a", "binding"), binding("a", "node-2"));
      const status = await fixture.api.refused(call, 409, "Conflict");
      expect(status.message).toContain('pod a is already assigned to node "node-1"');
    },
    "a pod is bound through the bindings collection too": async (fixture) => {
      await fixture.make("pods", pod("a"));
      removed(fixture, "a");
      await fixture.api.done(post(fixture.at("bindings"), binding("a", "node-1")));
      expect(dig(await fixture.api.done(get(fixture.at("pods", "a"))), "spec", "nodeName")).toBe("node-1");
    },
    "a pod's containers cannot be exchanged": async (fixture) => {
      const made = await fixture.make("pods", pod("a"));
      const spec = { ...(made["spec"] as object), containers: [{ name: "other", image: "busybox" }] };
      const status = await fixture.api.refused(put(fixture.at("pods", "a"), { ...made, spec }), 422, "Invalid");
      expect(status.message).toContain("pod updates may not change fields other than");
    },
    "a pod's image can be changed": async (fixture) => {
      await fixture.make("pods", pod("a"));
      const containers = [{ name: "main", image: "busybox:2" }];
      const call = mergePatch(fixture.at("pods", "a"), { spec: { containers } });
      const reply = await fixture.api.send({
        ...call,
        headers: { "content-type": "application/strategic-merge-patch+json" },
      });
      expect(reply.status).toBe(200);
      expect(dig(reply.body, "spec", "containers", 0, "image")).toBe("busybox:2");
    },
    "a pod's node cannot be changed by an update": async (fixture) => {
      await fixture.make("pods", pod("a"));
      await fixture.api.refused(mergePatch(fixture.at("pods", "a"), { spec: { nodeName: "node-1" } }), 422, "Invalid");
    },
    "a pod's annotations and labels can be changed": async (fixture) => {
      await fixture.make("pods", pod("a"));
      const metadata = { annotations: { "k8s.v1.cni.cncf.io/networks": "a,b" }, labels: { x: "y" } };
      expect((await fixture.api.done(mergePatch(fixture.at("pods", "a"), { metadata }))).metadata).toMatchObject(
        metadata,
      );
    },
    "a pod needs a container": async (fixture) => {
      const status = await fixture.api.refused(post(fixture.at("pods"), pod("a", { containers: [] })), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "FieldValueRequired", field: "spec.containers" });
    },
    "a pod's containers have names of their own": async (fixture) => {
      const container = { name: "main", image: "busybox" };
      const call = post(fixture.at("pods"), pod("a", { containers: [container, container] }));
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({
        reason: "FieldValueDuplicate",
        field: "spec.containers[1].name",
      });
    },
    "a pod's addresses are written to its status": async (fixture) => {
      await fixture.make("pods", pod("a"));
      const status = { podIP: "192.0.2.5", podIPs: [{ ip: "192.0.2.5" }, { ip: "2001:db8::5" }] };
      const after = await fixture.api.done(mergePatch(fixture.at("pods", "a", "status"), { status }));
      expect(after["status"]).toMatchObject({ ...status, phase: "Pending" });
    },
    "a pod's class of service follows its resources": async (fixture) => {
      const same = { cpu: "1", memory: "64Mi" };
      const sure = await fixture.make("pods", pod("sure", using({ requests: same, limits: same })));
      const some = await fixture.make("pods", pod("some", using({ requests: { cpu: "1" } })));
      expect([dig(sure, "status", "qosClass"), dig(some, "status", "qosClass")]).toEqual(["Guaranteed", "Burstable"]);
    },
    "limits are requests where none are given": async (fixture) => {
      const made = await fixture.make("pods", pod("a", using({ limits: { memory: "64Mi" } })));
      expect(dig(made, "spec", "containers", 0, "resources", "requests")).toEqual({ memory: "64Mi" });
    },
  },
};
