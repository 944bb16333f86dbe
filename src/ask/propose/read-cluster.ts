import { type Memories, memoryName } from '../../core/state/memory.ts'
import type { State } from '../../core/state/state.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { namespaceOf, subjectName } from '../../platform/base/subject.ts'
import { ifPermitted } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { APPLICATION_LABEL } from '../../platform/kubernetes/ownership-labels.ts'
import type { Application, ProposedCluster } from './cluster.ts'
import { beaconsOf, withRelated } from './standing.ts'
import { workloadsIn } from './workloads.ts'

export type Reading = {
  readonly memories: Pick<Memories, 'read'>
  readonly kubernetes: Kubernetes
  /** Tells if the asker may know of a namespace. */
  sees(namespace: string): Promise<boolean>
}

/** Reads the applications of a namespace, and these clients in other namespaces, as far as they can be read. */
export const readCluster = async (
  reading: Reading,
  namespace: string,
  clients: readonly string[],
): Promise<ProposedCluster> => {
  const near = await readNamespace(reading, namespace)
  const wanted = new Set([...clients, ...near.applications.flatMap(beaconsOf)])
  const elsewhere = [...new Set([...wanted].map((name) => namespaceOf(name)))].filter(
    (home) => home !== '' && home !== 'unknown' && home !== namespace,
  )
  const far: Read[] = []
  for (const home of elsewhere)
    if (await reading.sees(home)) far.push(...[(await ifPermitted(readNamespace(reading, home))) ?? []].flat())
  const all = [near, ...far]
  const known = new Map(all.flatMap(({ applications }) => applications).map((one) => [subjectName(one.subject), one]))
  const isMeant = (name: string) => wanted.has(name) || namespaceOf(name) === namespace
  return {
    namespace,
    applications: new Map(
      [...known].filter(([name]) => isMeant(name)).map(([name, one]) => [name, withRelated(one, known)]),
    ),
    configMaps: new Set(all.flatMap(({ configMaps }) => configMaps)),
    highestIds: new Map(all.map((one) => [one.namespace, one.highestId])),
  }
}

type Read = {
  readonly namespace: string
  readonly applications: readonly Application[]
  readonly configMaps: readonly string[]
  readonly highestId: number
}

type Remembered = Pick<Application, 'state' | 'problem'>

const readNamespace = async ({ memories, kubernetes }: Reading, namespace: string): Promise<Read> => {
  const configMaps: string[] = []
  const remembered = new Map<string, Remembered>()
  const [home, statefulSets, deployments, services, pods] = await Promise.all([
    kubernetes.find({ kind: 'Namespace', name: namespace }),
    kubernetes.list('StatefulSet', namespace),
    kubernetes.list('Deployment', namespace),
    kubernetes.list('Service', namespace),
    kubernetes.list('Pod', namespace),
    // other ConfigMaps may be large, and of them the names alone are kept
    kubernetes.pages('ConfigMap', namespace, undefined, (page) => {
      for (const one of page) {
        configMaps.push(`${namespace}/${one.metadata.name}`)
        const application = ownerOf(one)
        if (application !== undefined) remembered.set(application, memoryIn(memories, kubernetes, one))
      }
    }),
  ])
  const inNamespace = workloadsIn({
    labels: home?.metadata.labels ?? {},
    workloads: [...statefulSets, ...deployments],
    services,
    pods,
  })
  const names = new Set([...inNamespace.names, ...remembered.keys()])
  return {
    ...{ namespace, configMaps },
    applications: [...names].map((application): Application => {
      const subject = { namespace, application }
      return { subject, ...inNamespace.of(subject), ...remembered.get(application) }
    }),
    highestId: Math.max(0, ...[...remembered.values()].flatMap(({ state }) => idsIn(state))),
  }
}

const ownerOf = ({ metadata: { name, labels } }: KubernetesObject): string | undefined => {
  const application = ownValue(labels, APPLICATION_LABEL)
  return application !== undefined && name === memoryName(application) ? application : undefined
}

const memoryIn = (memories: Reading['memories'], { memo }: Kubernetes, stored: KubernetesObject): Remembered => {
  const read = memories.read(stored, memo)
  return read instanceof Error ? { problem: read.message } : { state: read }
}

/** An id that is over may still be on its way somewhere. */
const idsIn = (state: State | undefined): number[] =>
  state === undefined
    ? []
    : [...Object.values(state.relations).map(({ id }) => id), ...Object.keys(state.tombstones ?? {}).map(Number)]
