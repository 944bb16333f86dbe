import type { Typed } from './typed.ts'

/** The reason why a pod is not replaced, and the remedy. */
export type Stays = { readonly why: string; readonly end: string }

const rolloutOf = ({ spec }: Typed<'Workload'>) => {
  const { paused, ordinals, updateStrategy } = spec ?? {}
  return {
    paused,
    updateStrategy,
    first: ordinals?.start ?? 0,
    partition: updateStrategy?.rollingUpdate?.partition ?? 0,
  }
}

/** Tells if a workload may keep pods of an earlier template. */
export const isLeavingPods = (workload: Typed<'Workload'>): boolean => {
  const { paused, updateStrategy, partition } = rolloutOf(workload)
  return paused === true || updateStrategy?.type === 'OnDelete' || partition > 0
}

/** Returns the reason why the workload's controller keeps a pod of an earlier template. Undefined if it replaces the pod. */
export const reasonToStay = (
  workload: Typed<'Workload'>,
  { metadata: { name = '' } = {} }: Typed<'Pod'>,
): Stays | undefined => {
  const { paused, updateStrategy, first, partition } = rolloutOf(workload)
  if (paused === true) return { why: 'it is paused', end: 'resume its rollout' }
  if (updateStrategy?.type === 'OnDelete') return { why: 'its updateStrategy is OnDelete', end: 'delete them' }
  if (Number(name.slice((workload.metadata?.name ?? '').length + 1)) < first + partition)
    return { why: `its updateStrategy has the partition ${partition}`, end: 'lower the partition' }
  return undefined
}
