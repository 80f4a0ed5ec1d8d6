// The suite on the real kube-apiserver: what it answers is the truth that the cases state.
import { startRealServer } from "./real-server.ts";
import { apiConformance } from "./suite.ts";

apiConformance({ name: "kube-apiserver", start: startRealServer });
