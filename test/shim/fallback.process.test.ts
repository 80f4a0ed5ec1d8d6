// The shim on plain Node.
import { shimSuite } from "./suite.ts";

shimSuite("on Node", { native: false, crowd: 40 });
