// Daemons and claims on the embedded API, in one process.
import { embeddedServer } from "../slices/embedded-server.ts";
import { claimStories } from "./daemon/suite.ts";

claimStories("embedded API", embeddedServer);
