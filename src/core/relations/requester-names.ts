import { isSameSubject, type RemoteName, type Subject, subjectName } from '../../platform/base/subject.ts'
import { type Relation, relationName } from '../state/relation.ts'

/** Names the requester of a policy, in messages and on the objects made for it. */
export const requesterName = (
  { namespace: own }: Subject,
  relation: Pick<Relation, 'id' | 'endpoint'> & { readonly remote: RemoteName },
): string => {
  const { namespace = own, application } = relation.remote
  return `${relationName(relation)} of ${namespace}/${application}`
}

/** Names a requirer as its provider does. */
export const requesterAtProvider = (subject: Subject, self: Pick<Relation, 'id' | 'endpoint'>): string =>
  `${relationName(self)} of ${subjectName(subject)}`

/** Names the requesters of the policies of a relation, in the words of its beacon, and in those of a coordinator. */
export const requesterNames = (subject: Subject, relation: Relation): string[] => [
  relation.provider ? requesterAtProvider(subject, relation.provider.self) : requesterName(subject, relation),
  requesterAtProvider(subject, relation),
]

/** Names the config of an application as the requester of policies. */
export const configRequester = (subject: Subject): string => `${CONFIG_OF}${subjectName(subject)}`

/** Tells if the config of an application asked for a policy. */
export const isConfigRequester = (name: string): boolean => name.startsWith(CONFIG_OF)

const CONFIG_OF = 'config of '

/** The name of a requester on a policy: `relation 7 (service-mesh) of shop/details`. */
const REQUESTER = /^relation (\d+) \(.*\) of ([^/]+)\/([^/]+)$/

/** The application of a requester, and the id of its relation. */
export type Requester = { readonly id: string; readonly requester: Subject }

/** Parses a name that `requesterName` wrote. Undefined for any other text. */
export const parseRequester = (name: string): Requester | undefined => {
  const [, id, namespace, application] = REQUESTER.exec(name) ?? []
  return id === undefined || namespace === undefined || application === undefined
    ? undefined
    : { id, requester: { namespace, application } }
}

/** Tells if a relation of the application itself asked, by the name that `requesterName` gave it. */
export const isRequestOf = (subject: Subject, name: string): boolean => {
  const parsed = parseRequester(name)
  return parsed !== undefined && isSameSubject(parsed.requester, subject)
}
