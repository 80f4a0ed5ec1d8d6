// A lab in a process of its own, to be killed: says its folder when it is up, and stays.
import { ovnLab } from "../lab/ovn/lab.ts";

const lab = await ovnLab({ nodes: 1, zones: "one", version: "25.03" });
console.log(lab.folder);
setInterval(() => {}, 60_000);
