import { gatewayAccount } from '../../../mesh/istio/names.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { buildInput, type EvaluationInput } from '../../authorization/evaluation-input.ts'
import { findIngress } from '../../authorization/ingress.ts'
import { allPods } from '../../authorization/pods.ts'
import { type Side, sideName } from '../../authorization/side.ts'
import { type Change, compareRequests, ifThere, pastWaypoints, TOO_MANY } from '../compare-requests.ts'
import { type Class, type Classify, createClassify } from './classes.ts'
import { type Client, clientOf, type Face, isChanged, type Way } from './clients.ts'
import { externalDoubt } from './external-names.ts'
import { outsideClients } from './outside.ts'
import { sourcesOf } from './policy-sources.ts'
import { type AskedPort, portsOf } from './ports.ts'
import { isUnchanged } from './target-unchanged.ts'
import type { ObservedTarget, Worlds } from './world.ts'

/** Clients with the same change in the results of some requests. */
export type Found = AskedPort & {
  readonly to: Side
  readonly change: Change
  readonly who: readonly Class[]
}

export type Difference = {
  readonly found: readonly Found[]
  /** Targets for which it is unknown if results change, and the reason. */
  readonly doubts: readonly { readonly to: Side; readonly why: string }[]
  /** Targets that were not compared, because there was no time left. */
  readonly left: readonly Side[]
  /** All clients. */
  readonly clients: readonly Client[]
  /** Targets with changed policies or other deciding objects, or with changed clients. */
  readonly targets: readonly Side[]
  /** The number of compared classes of clients, summed over ports. */
  readonly questions: number
}

type Options = {
  readonly autoAllowWaypoint?: boolean | undefined
  /** Clients that are not applications. */
  readonly others?: readonly Client[]
  /** Namespaces that cannot be read completely. */
  readonly unread?: readonly string[]
  /** Yields to other requests. The remaining targets are not compared once it returns false. */
  readonly goesOn?: () => Promise<boolean>
}

/**
 * Compares the access in two worlds. If the policies, labels, pods, waypoints or accounts of a target differ, all clients are compared, else only the
 * clients that differ themselves. Clients, ports and requests that all policies of both worlds treat alike are compared once.
 */
export const findDifference = async (worlds: Worlds, options: Options = {}): Promise<Difference> => {
  const { goesOn = async () => true } = options
  const subjects = subjectsIn(worlds)
  const clients = await clientsIn(worlds, subjects, options)
  const compare = createComparison(worlds, clients, options)
  const compared: ComparedTarget[] = []
  let left: readonly Side[] = []
  for (const [index, to] of subjects.entries()) {
    if (!(await goesOn())) {
      left = subjects.slice(index)
      break
    }
    compared.push(...(await compare(to)))
  }
  return {
    ...{ clients, left },
    found: compared.flatMap(({ found }) => found),
    doubts: compared.flatMap(({ to, doubt }) => (doubt === undefined ? [] : [{ to, why: doubt }])),
    targets: compared.map(({ to }) => to),
    questions: compared.reduce((sum, one) => sum + one.questions, 0),
  }
}

const clientsIn = async (
  worlds: Worlds,
  subjects: readonly Side[],
  { others = [], goesOn }: Options,
): Promise<Client[]> => {
  const clients = [...others]
  for (const subject of subjects) {
    await goesOn?.()
    clients.push(await clientOf(subject, worlds))
  }
  return clients.filter(({ faces }) => faces.some((face) => face !== undefined))
}

type ComparedTarget = {
  readonly to: Side
  readonly found: readonly Found[]
  readonly doubt: string | undefined
  readonly questions: number
}

/** Prepares the comparison of single targets. A target for which nothing can have changed yields an empty list. */
const createComparison = (worlds: Worlds, clients: readonly Client[], options: Options) => {
  const domains = trustDomainsIn(worlds)
  const changed = clients.filter(isChanged)
  const classifyAll = createClassify(clients, domains, options.unread)
  const classifyChanged = createClassify(changed, domains)
  return async (to: Side): Promise<ComparedTarget[]> => {
    const sides = [await worlds[0].observe(to), await worlds[1].observe(to)] as const
    const isSame = isUnchanged(...sides, worlds)
    if (isSame && changed.length === 0) return []
    const { classes, isWhole } = classesFor(sides, isSame ? classifyChanged : classifyAll, !isSame)
    if (classes.length === 0) return []
    const ports = portsOf(to, sides)
    const compared = ports.map((port) => compareAt(to, port, { worlds, sides, classes, options }))
    // the result at a Service without known pods is always unknown, so that counts only if the target itself changed
    const hasPods = sides.some((side) => side.to && allPods(side.to).length > 0)
    return [
      {
        to,
        found: compared.flatMap(({ found }) => found),
        doubt:
          externalDoubt(to, sides) ??
          (isWhole ? undefined : TOO_MANY_PATTERNS) ??
          compared.flatMap(({ doubts }) => doubts).find((doubt) => hasPods || !isSame || doubt === TOO_MANY),
        questions: ports.length * classes.length,
      },
    ]
  }
}

const TOO_MANY_PATTERNS = 'policies name more patterns of accounts than are compared'

/** Lists the targets of both worlds: applications, Gateways that take traffic from outside, and pods of neither. What a Gateway owns is no application. */
const subjectsIn = (worlds: Worlds): Side[] => {
  const objects = worlds.flatMap((world) => world.objects)
  const applications = objects.flatMap(({ kind, metadata: { namespace, name, ownerReferences = [] } }) =>
    ['StatefulSet', 'Deployment', 'Service'].includes(kind) &&
    namespace !== undefined &&
    !ownerReferences.some((owner) => owner.kind === 'Gateway')
      ? [{ kind: 'application' as const, namespace, application: name }]
      : [],
  )
  const gateways = objects.flatMap(({ kind, metadata: { namespace = '', name } }) =>
    kind === 'Gateway' ? [{ kind: 'gateway' as const, namespace, application: name }] : [],
  )
  const ingress = gateways.filter((one) => worlds.some((world) => findIngress(world.gateway(one), one)))
  const lone = worlds.flatMap((world) => world.lone.subjects)
  const byName = new Map([...applications, ...ingress, ...lone].map((one) => [sideName(one), one]))
  return [...byName.values()].toSorted((one, other) => (sideName(one) < sideName(other) ? -1 : 1))
}

const trustDomainsIn = (worlds: Worlds): string[] => [
  ...new Set(['cluster.local', ...worlds.flatMap((world) => world.trustDomains)]),
]

const classesFor = (sides: readonly ObservedTarget[], classify: Classify, isChanged: boolean): ReturnType<Classify> => {
  const policies = [...new Set(sides.flatMap((side) => side.policies ?? []))]
  // auto-allow adds policies for the accounts of waypoints
  const accounts = sides.flatMap((side) => (side.gateways ?? []).map(accountOfWaypoint))
  const outside = isChanged ? outsideClients(policies.flatMap((one) => sourcesOf(one).blocks)) : []
  const { classes, isWhole } = classify(policies, accounts)
  return {
    isWhole,
    classes: [
      ...outside.map((one) => ({ group: outside, some: [one], except: new Set<Client>(), example: one })),
      ...classes,
    ],
  }
}

const accountOfWaypoint = ({ metadata: { namespace, name, annotations } }: KubernetesObject): string =>
  `${namespace}/${gatewayAccount(annotations, name)}`

type Comparison = {
  readonly worlds: Worlds
  readonly sides: readonly [ObservedTarget, ObservedTarget]
  readonly classes: readonly Class[]
  readonly options: Options
}

const compareAt = (to: Side, port: AskedPort, { worlds, sides, classes, options }: Comparison) => {
  const { autoAllowWaypoint } = options
  const input = (face: Face | undefined, side: 0 | 1, way: Way | undefined = face): EvaluationInput | undefined => {
    if (face === undefined || way === undefined) return undefined
    const question = { ...face.query, to, via: port.via, port: port.port, autoAllowWaypoint }
    const found = ifThere(() => buildInput(question, worlds[side].join(sides[side], way.observed)))
    return found && way.isDirect ? pastWaypoints(found) : found
  }
  const compared = classes.map((one) => {
    const [before, after] = one.example.faces
    const ways = Array.from(
      { length: Math.max(before?.ways?.length ?? 0, after?.ways?.length ?? 0) },
      (_, index) => [input(before, 0, before?.ways?.[index]), input(after, 1, after?.ways?.[index])] as const,
    )
    return { one, ...compareRequests([input(before, 0), input(after, 1)], ways) }
  })
  const byChange = Map.groupBy(
    compared.flatMap(({ one, changes }) => changes.map((change) => ({ one, change }))),
    ({ change }) => JSON.stringify(change),
  )
  return {
    found: [...byChange.values()].flatMap((alike): Found[] =>
      alike[0] ? [{ to, ...port, change: alike[0].change, who: alike.map(({ one }) => one) }] : [],
    ),
    doubts: compared.flatMap(({ doubts }) => doubts),
  }
}
