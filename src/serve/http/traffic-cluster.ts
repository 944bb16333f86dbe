import { parseSide } from '../../ask/authorization/side.ts'
import { accessIfEnforced, accessNow, type IfEnforced } from '../../ask/preview/access.ts'
import { isAudited, waypointsOf } from '../../ask/traffic/audited.ts'
import type { AccessNow } from '../../ask/traffic/classify.ts'
import { reportedIn } from '../../ask/traffic/reported.ts'
import type { Asker } from '../../core/access/answer-query.ts'
import { visibleTo } from '../../core/access/visibility.ts'
import { Refused } from '../../platform/base/errors.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { ifPermitted, ifServed } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Kind, KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { type ApplicationView, createApplications } from './applications.ts'

type Dependencies = Omit<Parameters<typeof createApplications>[0], 'authenticate' | 'connect'>

/** Reads the state that traffic to a namespace is compared with. What may not be read counts as absent. */
export const readTrafficCluster = async (
  namespace: string,
  dependencies: Dependencies,
  { kubernetes, sender }: Asker,
) => {
  const applications = createApplications({ ...dependencies, connect: () => kubernetes })
  const all = await applications.all({ namespace })
  const [gateways, policies] = [await listed(kubernetes, 'Gateway'), await listed(kubernetes, 'AuthorizationPolicy')]
  const pods = await listed(kubernetes, 'Pod', namespace)
  const services = await listed(kubernetes, 'Service', namespace)
  const home = await ifPermitted(kubernetes.find({ kind: 'Namespace', name: namespace }))
  const reading = { memories: dependencies.features.memories, kubernetes }
  return {
    views: all.filter((one): one is ApplicationView => !('problem' in one)),
    ...{ gateways, reported: reportedIn(home, pods, services), access: accessIn(reading) },
    ...(isAudited(policies) && { ifEnforced: enforcedIn(reading) }),
    waypoints: (await visibleTo(sender, waypointsOf(namespace, home, services), (one) => one)).map(
      (one) => `${one.namespace}/${one.name}`,
    ),
  }
}

const listed = async (kubernetes: Kubernetes, kind: Kind, namespace?: string): Promise<readonly KubernetesObject[]> =>
  (await ifPermitted(ifServed(kubernetes.list(kind, namespace)))) ?? []

type Reading = Parameters<typeof accessNow>[2]

const accessIn = (reading: Reading) => {
  const open = new Map<string, Promise<boolean>>()
  const isOpen = (to: string): Promise<boolean> => {
    const found = open.get(to) ?? passing(undefined, to, reading).then((verdicts) => verdicts.includes('allowed'))
    open.set(to, found)
    return found
  }
  return async (from: string | undefined, to: string): Promise<AccessNow> => {
    if (await isOpen(to)) return 'open'
    const verdicts = from === undefined ? [] : await passing(from, to, reading)
    if (verdicts.includes('allowed')) return 'allowed'
    return verdicts.includes('undecided') ? 'unknown' : 'none'
  }
}

const enforcedIn =
  (reading: Reading) =>
  async (from: string | undefined, to: string): Promise<IfEnforced> =>
    await ofSides(from, to, 'unknown', (client, target) => accessIfEnforced(client, target, reading))

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
    if (error instanceof Refused) return missing
    throw error
  }
}
