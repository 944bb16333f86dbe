import { labelManager } from './kubernetes/apply-labels.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import type { Kind, KubernetesObject } from './kubernetes/objects.ts'
import { appliers } from './kubernetes/ownership.ts'
import { MEMORY_SELECTOR, stateIn } from './memory.ts'
import { type Target, targetsOf } from './state.ts'

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
  const remembered = new Map(
    memories.map((memory) => [memory.metadata.labels?.['meshstep.dev/application'] ?? '', memory]),
  )
  const held = labelled.flat().flatMap((object) => appliers(object).flatMap((manager) => heldBy(manager, object)))
  const applications = new Set([...remembered.keys(), ...held.map(({ application }) => application)])
  return [...applications].toSorted().map((application) => {
    const memory = remembered.get(application)
    const state = memory && stateIn(memory)
    // what a memory that cannot be read says is not known: nothing is let go of
    const targets = memory && !state ? undefined : targetsOf(application, state?.config)
    const own = held.filter((one) => one.application === application)
    return {
      application,
      former:
        targets === undefined
          ? []
          : own.filter(({ target }) => !isTargeted(target, targets)).map(({ target }) => target),
    }
  })
}

const PREFIX = labelManager('')

const heldBy = (
  manager: string,
  { kind, metadata: { name } }: KubernetesObject,
): { application: string; target: Target }[] =>
  manager.startsWith(PREFIX)
    ? [{ application: manager.slice(PREFIX.length), target: { kind: kind as Target['kind'], name } }]
    : []

const isTargeted = ({ kind, name }: Target, targets: readonly Target[]): boolean =>
  targets.some((target) =>
    target.on === 'pods'
      ? kind === 'Pod'
      : target.name === name &&
        (target.kind === kind || (target.kind === 'Workload' && kind !== 'Service' && kind !== 'Pod')),
  )
