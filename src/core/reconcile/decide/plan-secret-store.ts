import { type KubernetesObject, nameOf } from '../../../platform/kubernetes/objects.ts'
import { ownWorkload } from '../../workload/config.ts'
import { isAvailable } from '../../workload/health.ts'
import { isWorkload } from '../../workload/objects.ts'
import { isStoreOf } from '../../workload/secret-store.ts'
import { rememberedKeys, storeReference } from '../../workload/secrets.ts'
import { type Operation, type Plan, writeOf } from './operation.ts'
import type { Situation } from './situation.ts'

type PlannedSecrets = Pick<Plan, 'operations' | 'problems'>

const NOTHING: PlannedSecrets = { operations: [], problems: [] }

/**
 * Plans to forget secret values without a reference, from the memory or from a pod of an earlier template. When the workload goes, the
 * whole Secret goes. It goes after the Secrets that were made from it, because its keys hold their names.
 */
export const planSecrets = (situation: Situation, operations: readonly Operation[]): PlannedSecrets => {
  const { subject, state, observed } = situation
  const { store } = observed.owned
  if (store === undefined) return NOTHING
  const wanted = rememberedKeys(state, subject.application)
  if ('problem' in store) return wanted.size === 0 ? NOTHING : { operations: [], problems: [store.problem] }
  const found = store.object
  const kept = Object.keys(found?.data ?? {})
  const lost = [...wanted].filter((key) => !kept.includes(key))
  const problems = lost.length === 0 ? [] : [lostMessage(situation, lost)]
  if (found === undefined || !isStoreOf(subject, found)) return { operations: [], problems }
  const keys = kept.filter((key) => !wanted.has(key) && !isHeld(situation, key))
  const isOver = keys.length === kept.length && wanted.size === 0
  if (!isOver && keys.length === 0) return { operations: [], problems }
  return { operations: [forgetting(situation, found, operations, isOver ? undefined : keys)], problems }
}

const forgetting = (
  { subject }: Situation,
  found: KubernetesObject,
  operations: readonly Operation[],
  keys: readonly string[] | undefined,
): Operation => {
  const goesBefore = ({ verb, object: name }: Operation) => {
    const kind = name.slice(0, name.indexOf(' '))
    return verb === 'remove' && (kind === 'Secret' || isWorkload(kind))
  }
  return {
    ...writeOf(subject, keys ? 'forget' : 'remove', found),
    needs: operations.filter(goesBefore).map(({ id }) => id),
    reason: 'nothing refers to it any more',
    ...(keys ? { verb: 'forget', found, keys } : { verb: 'remove', found }),
  }
}

/** Tells if pods may still read the key. A container that restarts reads its variables again. */
const isHeld = ({ state, observed: { running } }: Situation, key: string): boolean => {
  if (ownWorkload(state.config) === undefined) return false
  const { workload, pods } = running
  const readers = workload ? [workload] : pods
  if (readers === undefined || (workload && !isAvailable(workload))) return true
  return readers.some(({ spec }) => JSON.stringify(spec ?? {}).includes(JSON.stringify(key)))
}

const lostMessage = ({ subject }: Situation, lost: readonly string[]): string =>
  `${nameOf(storeReference(subject))}: it no longer has ${lost.slice(0, 5).join(', ')}, which the config refers to. Send the config again; what runs stays`
