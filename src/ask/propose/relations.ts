import { isSameNamespace, type Subject, subjectName, subjectNamed } from '../../platform/base/subject.ts'
import type { Application, ProposedCluster } from './cluster.ts'
import type { ToldRelation } from './document-writer.ts'
import { evidence, type Seen } from './seen.ts'
import { beaconsOf, listedPolicies, wordOf } from './standing.ts'
import type { TargetDraft } from './target-draft.ts'
import type { Setting } from './write-documents.ts'

const isFar = ({ from, to }: Seen): boolean => !isSameNamespace(subjectNamed(from), subjectNamed(to))

/** The relations of targets with the clients that are granted access. */
export const grantRelations = (drafts: readonly TargetDraft[], window: string): ToldRelation[] =>
  drafts.flatMap(({ target, relations }) =>
    relations.map(({ seen, endpoint: { name, interface: kind, role } }) => ({
      of: target.subject,
      relation: { endpoint: name, interface: kind, role: seen.from === seen.to ? 'peers' : role },
      remote: subjectNamed(seen.from),
      comments: [`${seen.from} → ${seen.to}: ${evidence(seen, window)}.`],
    })),
  )

/** The relations in which clients of other namespaces publish their names. Each side is told. */
export const crossModelRelations = (
  drafts: readonly TargetDraft[],
  { applications }: ProposedCluster,
): ToldRelation[] =>
  drafts.flatMap(({ target, granted }) =>
    granted.filter(isFar).flatMap(({ from }) => {
      const [own, client] = [target.subject, subjectNamed(from)]
      const sides = [
        { of: client, endpoint: 'require-cmr-mesh', role: 'requires' as const, remote: own },
        { of: own, endpoint: 'provide-cmr-mesh', role: 'provides' as const, remote: client },
      ]
      return sides
        .filter(({ of, remote }) => !tells(applications.get(subjectName(of)), remote))
        .map(({ of, endpoint, role, remote }) => ({
          ...{ of, remote, relation: { endpoint, interface: 'cross_model_mesh', role } },
          comments: [`${from} is in another namespace, and names itself to ${subjectName(own)} here.`],
        }))
    }),
  )

const tells = (known: Application | undefined, remote: Subject): boolean =>
  known !== undefined &&
  wordOf(known).some((one) => one.interface === 'cross_model_mesh' && one.remote === subjectName(remote))

/** The relations by which targets and clients of the namespace join the mesh of the beacon. */
export const meshRelations = (drafts: readonly TargetDraft[], { cluster, beacon }: Setting): ToldRelation[] => {
  const targets = drafts
    .filter(({ target, policies }) => policies.length > 0 || target.isRelated || listedPolicies(target).length > 0)
    .map(({ target }) => target)
  const clients = drafts
    .flatMap(({ granted, standing }) => [...granted, ...standing])
    .flatMap(({ from }) => cluster.applications.get(from) ?? [])
    .filter((client) => mustJoin(client, cluster.namespace))
  const joining = new Map([...targets, ...clients].map((known) => [subjectName(known.subject), known]))
  return [...joining.values()]
    .filter((known) => beaconsOf(known).length === 0 && known.state?.config?.mesh === undefined)
    .flatMap((known) => joinOf(known, targets.includes(known), beacon))
}

/** Tells if policies know a client only once it joins the mesh. */
export const mustJoin = (client: Application, namespace: string): boolean =>
  client.subject.namespace === namespace &&
  client.workload !== undefined &&
  !client.workload.isGateway &&
  !client.workload.isOnMesh &&
  beaconsOf(client).length === 0

const joinOf = ({ subject }: Application, isTarget: boolean, { namespace, application }: Subject): ToldRelation[] => {
  const beacon = { namespace, application }
  const why = isTarget ? 'its policies are enforced there' : 'policies know it by its identity there'
  const comments = [`${subjectName(subject)} joins the mesh of ${subjectName(beacon)}: ${why}.`]
  const own: ToldRelation = {
    ...{ of: subject, remote: beacon, comments },
    relation: { endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
  }
  return isSameNamespace(subject, beacon)
    ? [own]
    : // across namespaces each side is told
      [own, { ...own, of: beacon, remote: subject, relation: { ...own.relation, endpoint: 'mesh', role: 'provides' } }]
}
