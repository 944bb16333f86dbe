import { Application } from './config.ts'
import { labelManager, workloadKinds } from './kubernetes/apply-labels.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import type { Kind, KubernetesObject } from './kubernetes/objects.ts'
import { appliers } from './kubernetes/ownership.ts'
import { isPodOf } from './kubernetes/pods.ts'
import { APPLICATION_LABEL, MEMORY_SELECTOR, memoryName, stateIn } from './memory.ts'
import { type State, type Target, targetsOf } from './state.ts'

/** An application of a namespace, and where its labels are held though its memory does not say so. */
export type Swept = { application: string; former: readonly Target[] }

const LABELLED: readonly Kind[] = ['StatefulSet', 'Deployment', 'Service', 'Pod']

/**
 * The applications of a namespace: those with a memory, and those that lost it but whose field manager still holds labels. The name of
 * the field manager says whose they are.
 */
export const sweep = async (kubernetes: Kubernetes, namespace: string): Promise<Swept[]> => {
  const [memories = [], ...labelled] = await Promise.all([
    kubernetes.list('ConfigMap', namespace, MEMORY_SELECTOR),
    ...LABELLED.map((kind) => kubernetes.list(kind, namespace)),
  ])
  const objects = labelled.flat()
  const remembered = new Map(memories.flatMap(applicationOf))
  const applications = new Set([...remembered.keys(), ...objects.flatMap(holdersOf)])
  return [...applications].toSorted().map((application) => {
    const memory = remembered.get(application)
    const state = memory && stateIn(memory)
    // what a memory that cannot be read says is not known: nothing is let go of
    if (memory && !state) return { application, former: [] }
    const targeted = new Set(targetsOf(application, state?.config).flatMap((target) => found(target, objects, state)))
    const held = objects.filter((object) => holdersOf(object).includes(application) && !targeted.has(object))
    return { application, former: held.map(({ kind, metadata: { name } }) => ({ kind: kind as Target['kind'], name })) }
  })
}

const applicationOf = (memory: KubernetesObject): [string, KubernetesObject][] => {
  const application = memory.metadata.labels?.[APPLICATION_LABEL] ?? ''
  return memory.metadata.name === memoryName(application) ? [[application, memory]] : []
}

const PREFIX = labelManager('')

/** The applications whose field manager holds something on the object. */
const holdersOf = (object: KubernetesObject): string[] =>
  appliers(object)
    .filter((manager) => manager.startsWith(PREFIX))
    .map((manager) => manager.slice(PREFIX.length))
    .filter((application) => Application.safeParse(application).success)

/** The objects among those listed that a step would look at for a target. */
const found = (
  { kind, name, on }: Target,
  objects: readonly KubernetesObject[],
  state: State | undefined,
): KubernetesObject[] => {
  const kinds: readonly string[] = kind === 'Workload' ? workloadKinds(state?.workloadKind) : [kind]
  const named = kinds.flatMap(
    (one) => objects.find((object) => object.kind === one && object.metadata.name === name) ?? [],
  )
  const [workload] = named
  if (workload === undefined) return []
  return on === 'pods' ? objects.filter((object) => object.kind === 'Pod' && isPodOf(workload, object)) : [workload]
}
