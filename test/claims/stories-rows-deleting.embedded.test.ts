import { deleting, letting, orphaning, recreating } from "./stories/deleting.ts";
import { onEmbedded } from "./stories/suite.ts";

onEmbedded("rows of deleting", deleting);
onEmbedded("rows of orphaning", orphaning);
onEmbedded("rows of re-creating", recreating);
onEmbedded("rows of letting go", letting);
