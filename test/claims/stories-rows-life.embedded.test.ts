import { appearing, attaching, migrating } from "./stories/life.ts";
import { onEmbedded } from "./stories/suite.ts";

onEmbedded("rows of appearing", appearing);
onEmbedded("rows of attaching", attaching);
onEmbedded("rows of migrating", migrating);
