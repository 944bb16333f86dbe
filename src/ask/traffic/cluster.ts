import type { Memories } from '../../core/state/memory.ts'
import { isDryRun } from '../../mesh/istio/dry-run.ts'
import { isRefused } from '../../platform/base/errors.ts'
import { namespaceOf, type Subject } from '../../platform/base/subject.ts'
import { ifPermitted } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { listReadable } from '../../platform/kubernetes/list-readable.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { parseSide } from '../authorization/side.ts'
import { waypointsOf } from '../authorization/waypoint.ts'
import { accessIfEnforced, accessNow, type IfEnforced } from '../preview/access.ts'
import type { Shown } from '../views/graph.ts'
import type { AccessNow } from './classify.ts'
import { samePodsIn, targetsOnMesh } from './targets.ts'

/** The state of a cluster that traffic to a namespace is compared with. */
export type Cluster = {
  readonly views: readonly Shown[]
  /** The Gateways through which traffic to the namespace may pass: its own, and those that it names. */
  readonly gateways: readonly KubernetesObject[]
  readonly onMesh: readonly string[]
  readonly samePods: readonly (readonly string[])[]
  /** Decides on the access of one client, or of any client outside the mesh, to an application. */
  access(from: string | undefined, to: string): Promise<AccessNow>
  /** Decides the same if dry runs were enforced. Absent if no policy is a dry run. */
  readonly ifEnforced?: ((from: string | undefined, to: string) => Promise<IfEnforced>) | undefined
  /** The waypoints of the namespace's Services, of which the asker may know. */
  readonly waypoints: readonly string[]
}

/** Tells if the asker may know of a namespace. */
type Sees = (about: { readonly namespace: string }) => Promise<boolean>

type Dependencies = Reading & { readonly views: readonly Shown[]; readonly sees: Sees }

/** Reads the state that traffic to a namespace is compared with. Objects that may not be read count as absent. */
export const readTrafficCluster = async (
  namespace: string,
  { views, sees, ...reading }: Dependencies,
): Promise<Cluster> => {
  const { kubernetes } = reading
  const home = await ifPermitted(kubernetes.find({ kind: 'Namespace', name: namespace }))
  const [gateways = [], policies = [], pods = [], services = []] = await Promise.all([
    listReadable(kubernetes, 'Gateway', undefined),
    listReadable(kubernetes, 'AuthorizationPolicy', undefined),
    listReadable(kubernetes, 'Pod', namespace),
    listReadable(kubernetes, 'Service', namespace),
  ])
  const waypoints: string[] = []
  const named = waypointsOf(namespace, home, [...services, ...pods])
  for (const one of waypointsOf(namespace, home, services))
    if (await sees({ namespace: one.namespace })) waypoints.push(`${one.namespace}/${one.name}`)
  return {
    ...{ views, access: accessIn(reading, sees), waypoints },
    // whoever makes a Gateway of another namespace would else hide a client under its name
    gateways: gateways.filter(
      ({ metadata }) =>
        metadata.namespace === namespace ||
        named.some((one) => one.namespace === metadata.namespace && one.name === metadata.name),
    ),
    ...{ onMesh: targetsOnMesh(home, pods, services), samePods: samePodsIn(pods, services) },
    ...(policies.some(isDryRun) && { ifEnforced: enforcedIn(reading, sees) }),
  }
}

type Reading = { readonly memories: Pick<Memories, 'read'>; readonly kubernetes: Kubernetes }

const accessIn = (reading: Reading, sees: Sees) => {
  const open = new Map<string, Promise<boolean>>()
  const isOpen = (to: string): Promise<boolean> => {
    const found = open.get(to) ?? passing(undefined, to, reading).then((verdicts) => verdicts.includes('allowed'))
    open.set(to, found)
    return found
  }
  return async (from: string | undefined, to: string): Promise<AccessNow> => {
    if (await isOpen(to)) return 'open'
    if (await isHidden(from, to, sees)) return 'unknown'
    const verdicts = from === undefined ? [] : await passing(from, to, reading)
    if (verdicts.includes('allowed')) return 'allowed'
    return verdicts.includes('undecided') ? 'unknown' : 'none'
  }
}

/** Tells if the asker may not know of a client. An answer about it tells that it runs, and as whom. */
const isHidden = async (from: string | undefined, to: string, sees: Sees): Promise<boolean> => {
  const namespace = from === undefined ? undefined : namespaceOf(from)
  return namespace !== undefined && !to.startsWith(`${namespace}/`) && !(await sees({ namespace }))
}

const enforcedIn =
  (reading: Reading, sees: Sees) =>
  async (from: string | undefined, to: string): Promise<IfEnforced> =>
    (await isHidden(from, to, sees))
      ? 'unknown'
      : await ofSides(from, to, 'unknown', (client, target) => accessIfEnforced(client, target, reading))

/** Lists the verdicts on requests of a client through the Service of that name. A side that does not exist passes nothing. */
const passing = async (from: string | undefined, to: string, reading: Reading) =>
  await ofSides(from, to, [], async (client, target) =>
    (await accessNow(client, target, reading)).map(({ after }) => after),
  )

/** Answers about two sides by their names. The answer is `missing` if one does not exist, or has no such name. */
const ofSides = async <T>(
  from: string | undefined,
  to: string,
  missing: T,
  answer: (client: Subject | undefined, target: Subject) => Promise<T>,
): Promise<T> => {
  try {
    return await answer(from === undefined ? undefined : parseSide(from), parseSide(to))
  } catch (error) {
    if (isRefused(error)) return missing
    throw error
  }
}
