import { deletedClaims, handMadeClaims } from "./stories/claims-by-users.ts";
import { onEmbedded } from "./stories/suite.ts";

onEmbedded("rows of claims that users delete", deletedClaims);
onEmbedded("rows of claims that users make", handMadeClaims);
