import * as z from 'zod'
import { createAnswerQuery } from '../../ask/views/answer-query.ts'
import { assess } from '../../ask/views/assess.ts'
import { type PolicyView, policyViews } from '../../ask/views/policies.ts'
import { type RelationView, relationViews } from '../../ask/views/relations.ts'
import type { CheckAdmissionPolicy } from '../../core/access/admission-policy.ts'
import type { Sender } from '../../core/access/authenticate.ts'
import { type AuthorizeAuthor, type RefusedDocument, refusedDocuments } from '../../core/access/document-authors.ts'
import { maySee } from '../../core/access/visibility.ts'
import type { Features } from '../../core/feature/combine.ts'
import type { Environment } from '../../core/feature/feature.ts'
import { podsSeenIn, unlessForbidden } from '../../core/reconcile/observe/cluster.ts'
import { type Owner, ownersIn } from '../../core/reconcile/observe/field-owners.ts'
import { createListBudget } from '../../core/reconcile/observe/list-budget.ts'
import { documentRefused, withConditions } from '../../core/reconcile/record/conditions.ts'
import { mergeSettings } from '../../core/relations/databags/application-data.ts'
import { listNamesEverywhere, listPeers, type Peer } from '../../core/relations/peers.ts'
import { misspeltEndpoints } from '../../core/relations/told/unmatched-endpoints.ts'
import type { Config } from '../../core/state/config.ts'
import { isInherited, memoryObject, savedAt } from '../../core/state/memory.ts'
import { type CustomData, relationsIn } from '../../core/state/relation.ts'
import type { State } from '../../core/state/state.ts'
import { currentLeader, type Leader } from '../../core/units/leader.ts'
import { type ApplicationStatus, statusBy } from '../../core/units/report.ts'
import { findUnitNumber, type Units, unitName } from '../../core/units/units.ts'
import { closedTargets } from '../../features/service-mesh/consumer.ts'
import type { Service } from '../../features/services/announced.ts'
import { offeredServices } from '../../features/services/offered.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { type Condition, condition } from '../../platform/base/condition.ts'
import { isConfigurationError, Refused, Unavailable } from '../../platform/base/errors.ts'
import { parseInput } from '../../platform/base/issues.ts'
import { memoizeLatest } from '../../platform/base/memoize-latest.ts'
import { Application, Namespace } from '../../platform/base/names.ts'
import { defined } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { isForbidden } from '../../platform/kubernetes/api-error.ts'
import { counting, type Kubernetes, readingOnce } from '../../platform/kubernetes/client.ts'
import { listReadable } from '../../platform/kubernetes/list-readable.ts'
import { MANAGED_SELECTOR } from '../../platform/kubernetes/ownership-labels.ts'
import { PageQuery } from './page-query.ts'

/** An application's memory as any of its pods may read it, in JSON. */
export type ApplicationView = {
  readonly namespace: string
  readonly application: string
  readonly status: ApplicationStatus
  /** Everything that is open at it. It is ready if nothing is. */
  readonly conditions: readonly Condition[]
  /** Its workload or pods exist, as far as they may be read. */
  readonly runs: boolean
  /** Absent without a leader. */
  readonly leader?: Pick<Leader, 'unit' | 'epoch'>
  /** The application's own settings, as its leader wrote them last. */
  readonly settings: Readonly<Record<string, string>>
  readonly units: readonly { readonly unit: string; readonly pod: string; readonly uid: string }[]
  /** Messages for people: what cannot be served, targets without clients, endpoints that are probably misspelt, a missing admission policy, and refused documents. */
  readonly messages: readonly string[]
  /** The labels that the workload has, and (`wanted`) those that it should have. */
  readonly labels: Readonly<Record<string, string>>
  readonly wanted: Readonly<Record<string, string>>
  readonly config: Config
  readonly relations: readonly RelationView[]
  /** Absent if this process may not list policies. */
  readonly policies?: readonly PolicyView[]
  /** The time at which a step last saved the memory. */
  readonly saved?: string
  /** The Services that are offered to the application, by relation id. */
  readonly services: readonly Service[]
  /** The custom data of peers: their databags without the keys of protocols. */
  readonly databags: readonly (CustomData & {
    readonly relation: number
    readonly endpoint: string
    readonly application: string
  })[]
}

/** An application with a memory that cannot be read, or with only a refused document, and the reason. */
export type UnreadableView = Subject & { readonly problem: string }

/** Answers questions about the memory of one application, or of a whole namespace. Rejects with Refused, 404, if there is none, or no such namespace. */
export type Applications = {
  one(named: { namespace: string; application: string }, authorization?: string | undefined): Promise<ApplicationView>
  all(named: { namespace: string }, authorization?: string | undefined): Promise<(ApplicationView | UnreadableView)[]>
  /** A page of the applications in all namespaces, ordered by name, about which the sender may send events. */
  everywhere(query: URLSearchParams, authorization?: string | undefined): Promise<Page>
}

/** A page. `next` is the query for the following page. It is absent on the last page. */
export type Page = { readonly items: readonly (ApplicationView | UnreadableView)[]; readonly next?: URLSearchParams }

type Dependencies = Parameters<typeof createAnswerQuery>[0] & {
  features: Features
  checkAdmissionPolicy?: CheckAdmissionPolicy | undefined
  /** Without it, documents of any author are accepted. */
  authorizeAuthor?: AuthorizeAuthor | undefined
  clock: Clock
  environment: Environment
}

const Named = z.object({ namespace: Namespace, application: Application })

/** The limit of namespaces whose objects a request keeps. Pages go through namespaces in order. */
const MOST_NAMESPACES = 8

/** The limit of applications for which one request checks the sender's rights. */
const MOST_ASKED = 500

export const createApplications = (dependencies: Dependencies): Applications => {
  const { features, checkAdmissionPolicy, authorizeAuthor, clock, environment } = dependencies
  const answerQuery = createAnswerQuery(dependencies)
  const budget = createListBudget()
  const looking = <T>(
    authorization: string | undefined,
    answer: (look: Look, sender?: Sender) => Promise<T>,
    application?: string,
  ) =>
    answerQuery(authorization, ({ kubernetes, sender }) => {
      const counted: Look['counted'] = async (client, act) => {
        const account = budget.open(sender?.author.username)
        try {
          return await act(counting(client, account.keep))
        } finally {
          account.close()
        }
      }
      const refused: Look['refused'] = (namespace) =>
        counted(kubernetes, (client) => refusedDocuments(features, client, authorizeAuthor, namespace, application))
      return answer(
        {
          ...{ features, kubernetes: readingOnce(kubernetes), checkAdmissionPolicy, counted, clock, environment },
          refused: memoizeLatest(refused, MOST_NAMESPACES),
          owners: memoizeLatest((namespace) => ownersIn(kubernetes, namespace), MOST_NAMESPACES),
        },
        sender,
      )
    })
  const pageOf = async (
    look: Look,
    sender: Sender | undefined,
    { limit, after }: z.output<typeof PageQuery>,
  ): Promise<Page> => {
    const known = (await namesEverywhere(look.kubernetes)).filter((subject) => isAfter(subjectName(subject), after))
    const left = known.toSorted((one, other) => (isAfter(subjectName(one), subjectName(other)) ? 1 : -1))
    const items: (ApplicationView | UnreadableView)[] = []
    for (const [index, subject] of left.entries()) {
      if (await maySee(sender, subject)) items.push(await viewOrProblem(look, subject))
      const isFull = items.length === limit || index + 1 === MOST_ASKED
      if (isFull && index + 1 < left.length)
        return { items, next: new URLSearchParams({ limit: String(limit), after: subjectName(subject) }) }
    }
    return { items }
  }
  return {
    one: async (named, authorization) => {
      const subject = parseInput(Named, named)
      return await looking(
        authorization,
        async (look, sender) => {
          await sender?.authorize(subject)
          return await viewOf(look, subject)
        },
        subject.application,
      )
    },
    all: async (named, authorization) => {
      const { namespace } = parseInput(Named.pick({ namespace: true }), named)
      return await looking(authorization, async (look, sender) => {
        await sender?.authorize({ namespace })
        const peers = await listPeers(look.kubernetes, namespace)
        const views: (ApplicationView | UnreadableView)[] = []
        for (const { subject } of peers.values()) views.push(await viewOrProblem(look, subject))
        const all = [...views, ...unknownIn(namespace, peers, await look.refused(namespace))]
        if (all.length === 0 && (await isMissing(look.kubernetes, namespace)))
          throw new Refused(404, `Namespace ${namespace} does not exist`)
        return all
      })
    },
    everywhere: async (query, authorization) => {
      const asked = parseInput(PageQuery, Object.fromEntries(query))
      return await looking(authorization, (look, sender) => pageOf(look, sender, asked))
    },
  }
}

/** Tells if a namespace does not exist. One that may not be read may exist. */
const isMissing = async (kubernetes: Kubernetes, name: string): Promise<boolean> => {
  const found = await unlessForbidden(kubernetes.find({ kind: 'Namespace', name }))
  return 'value' in found && found.value === undefined
}

/** Lists the applications of which only refused documents exist. */
const unknownIn = (
  namespace: string,
  peers: ReadonlyMap<string, Peer>,
  refused: readonly RefusedDocument[],
): UnreadableView[] =>
  refused.flatMap(({ application, problem }) =>
    application === undefined || peers.has(subjectName({ namespace, application }))
      ? []
      : [{ namespace, application, problem }],
  )

const namesEverywhere = async (kubernetes: Kubernetes): Promise<Subject[]> => {
  try {
    return await listNamesEverywhere(kubernetes)
  } catch (error) {
    if (!isForbidden(error)) throw error
    throw new Refused(403, 'this process may not list the ConfigMaps of all namespaces: ask /applications/{namespace}')
  }
}

/** Compares names by namespace, then by application. */
const isAfter = (name: string, other: string): boolean => name.replace('/', ' ') > other.replace('/', ' ')

type Look = {
  readonly features: Features
  readonly kubernetes: Kubernetes
  readonly checkAdmissionPolicy: CheckAdmissionPolicy | undefined
  /** The refused documents of a namespace, or of the one requested application. They are read once. */
  readonly refused: (namespace: string) => Promise<readonly RefusedDocument[]>
  /** The applications that own objects in a namespace. They are read once. */
  readonly owners: (namespace: string) => Promise<readonly Owner[]>
  /** Runs an action with a client that counts the memory it uses, and releases it at the end. */
  readonly counted: <T>(kubernetes: Kubernetes, act: (kubernetes: Kubernetes) => Promise<T>) => Promise<T>
  readonly clock: Clock
  readonly environment: Environment
}

const viewOrProblem = async (look: Look, subject: Subject) => {
  try {
    return await viewOf(look, subject)
  } catch (error) {
    // if one application is too large, that is its problem in the list, and the others are still shown
    const isTooMuch = error instanceof Unavailable && error.status === 429
    if (!isTooMuch && !isConfigurationError(error)) throw error
    return { ...subject, problem: error.message }
  }
}

const viewOf = (look: Look, subject: Subject): Promise<ApplicationView> =>
  look.counted(look.kubernetes, (kubernetes) => viewIn({ ...look, kubernetes }, subject))

const viewIn = async (
  { features, kubernetes, checkAdmissionPolicy, refused, owners, clock, environment }: Look,
  subject: Subject,
): Promise<ApplicationView> => {
  const memory = await features.memories.load(kubernetes, subject)
  const { state: remembered, labels, stored } = memory
  const { namespace, application } = subject
  const own = (await refused(namespace)).filter((document) => document.application === application)
  const refusals = own.map((document) => documentRefused(subject, document))
  if (stored === undefined)
    throw new Refused(
      404,
      [`${namespace}/${application}: unknown application`, ...own.map(({ problem }) => problem)].join('; '),
    )
  const [found, policies, unguarded, unmet] = await Promise.all([
    assess({ features, kubernetes, clock, environment, owners }, subject, memory),
    listReadable(kubernetes, 'AuthorizationPolicy', namespace, MANAGED_SELECTOR),
    unguardedIn(namespace, remembered, checkAdmissionPolicy),
    features.unmet(features.memories, kubernetes, subject, remembered.config),
  ])
  const { state, resolved, peers, running, labels: wanted } = found
  const { conditions, application: status } = isInherited(memory)
    ? { conditions: [notOurs(subject)], application: statusBy([notOurs(subject)], 'active') }
    : withConditions(found, [...unmet, ...refusals])
  // a Deployment's pod has no unit number until a step has seen it
  const isKnown = (uid: string) =>
    running.workload?.kind === 'StatefulSet' || Object.hasOwn(remembered.units.present, uid)
  const leader = Object.keys(state.units.present).some(isKnown)
    ? currentLeader({ application, leader: state.leader, units: state.units })
    : undefined
  const saved = savedAt(memory)
  return {
    ...subject,
    status,
    conditions,
    runs: running.isAbsent !== true,
    messages: [
      ...conditions.filter(({ reason }) => reason === 'DataUnserved').map(({ message }) => message),
      ...closedTargets(subject, resolved.state, podsSeenIn(running), conditions),
      ...misspeltEndpoints(subject, state),
      ...unguarded,
      ...refusals.map(({ message }) => message),
      ...(policies
        ? []
        : [`its policies are not known: this process may not list the AuthorizationPolicies of ${namespace}`]),
    ],
    ...(leader && { leader: defined({ unit: nameOf(state.units, application, leader.unit), epoch: leader.epoch }) }),
    settings: mergeSettings(state),
    units: Object.entries(state.units.present)
      .filter(([uid]) => isKnown(uid))
      .map(([uid, { pod, number }]) => ({ unit: unitName(application, number), pod, uid, number }))
      .toSorted((one, other) => one.number - other.number)
      .map(({ number: _, ...unit }) => unit),
    labels,
    wanted: wanted.labels,
    config: state.config ?? {},
    relations: relationViews(subject, state, peers),
    ...(policies && { policies: policyViews(subject, policies) }),
    ...(saved !== undefined && { saved: new Date(saved).toISOString() }),
    services: offeredServices(subject, resolved.state).services,
    databags: relationsIn(resolved.state).flatMap(({ id, endpoint, remote, customData }) =>
      customData ? [{ relation: id, endpoint, application: remote.application, ...customData }] : [],
    ),
  }
}

/** Returns the reason why no admission policy checks the authors of the application's documents, if it has documents. */
const unguardedIn = async (
  namespace: string,
  state: State,
  checkAdmissionPolicy: CheckAdmissionPolicy | undefined,
): Promise<string[]> => {
  const reason = isDocumented(state) ? await checkAdmissionPolicy?.(namespace) : undefined
  return reason === undefined ? [] : [reason]
}

const isDocumented = ({ document, relations }: State): boolean =>
  document !== undefined || Object.values(relations).some((entry) => entry.document !== undefined)

/** The condition of an application whose ConfigMap has no data of meshstep. */
const notOurs = (subject: Subject): Condition =>
  condition(
    'Waiting',
    'MemoryOfLibrary',
    memoryObject(subject),
    `${memoryObject(subject)} is the charm library's, or somebody else's, and nothing of meshstep is in it: the first relation or config event takes the application over`,
  )

const nameOf = (units: Units, application: string, name: string): string => {
  const number = findUnitNumber(units, application, name)
  return number === undefined ? name : unitName(application, number)
}
