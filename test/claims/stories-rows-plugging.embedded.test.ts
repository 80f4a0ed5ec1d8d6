import { plugging, unplugging } from "./stories/plugging.ts";
import { onEmbedded } from "./stories/suite.ts";

onEmbedded("rows of plugging", plugging);
onEmbedded("rows of unplugging", unplugging);
