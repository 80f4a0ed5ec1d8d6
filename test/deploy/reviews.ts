// What an account may do, asked of the API server one question at a time: every verb on every resource it serves.
import { type Access, Rest } from "../lab/rest.ts";

/** `""` for what is not in a namespace. */
export interface Question {
  readonly namespace: string;
  readonly group: string;
  /** With its subresource: `ippools/status`. */
  readonly resource: string;
  readonly verb: string;
}

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"] as const;
/** Questions at once: enough to be quick, few enough for a server on two cores. */
const lanes = 16;

interface ServedList {
  readonly groupVersion: string;
  readonly resources: readonly { readonly name: string; readonly namespaced: boolean }[];
}

/** Every question there is, in these namespaces. */
export async function everyQuestion(admin: Rest, namespaces: readonly string[]): Promise<Question[]> {
  const { groups } = await admin.get<{ groups: { versions: { groupVersion: string }[] }[] }>("/apis");
  // Rights know groups only; a kind may be in any version of its group.
  const all = groups.flatMap(({ versions: each }) => each.map(({ groupVersion }) => `/apis/${groupVersion}`));
  const versions = ["/api/v1", ...all];
  const lists = await Promise.all(versions.map((path) => admin.get<ServedList>(path)));
  const seen = new Set<string>();
  return lists.flatMap(({ groupVersion, resources }) => {
    const group = groupVersion.includes("/") ? (groupVersion.split("/")[0] ?? "") : "";
    const own = resources.filter(({ name }) => !seen.has(`${group}/${name}`));
    for (const { name } of own) seen.add(`${group}/${name}`);
    return own.flatMap(({ name, namespaced }) =>
      (namespaced ? namespaces : [""]).flatMap((namespace) =>
        verbs.map((verb) => ({ namespace, group, resource: name, verb })),
      ),
    );
  });
}

/** Those that the account is allowed, in order. */
export async function allowedOf(account: Access, questions: readonly Question[]): Promise<Question[]> {
  const rest = new Rest(account);
  const allowed = new Set<number>();
  const line = questions.entries();
  const work = async () => {
    for (const [index, question] of line) if (await mayI(rest, question)) allowed.add(index);
  };
  await Promise.all(Array.from({ length: lanes }, work));
  rest.close();
  return questions.filter((_, index) => allowed.has(index));
}

/** `name`: one object; without it any. */
export async function mayI(rest: Rest, question: Question & { readonly name?: string }): Promise<boolean> {
  const { namespace, group, resource: path, verb, name = "" } = question;
  const [resource = "", subresource = ""] = path.split("/");
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: { namespace, group, resource, subresource, verb, name } },
  };
  const answer = await rest.create<{ status: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    review,
  );
  return answer.status.allowed;
}
