import { isDeepStrictEqual } from 'node:util'
import type { ObjectChange } from '../../embedded/fork/fork.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'

/** The kinds whose specs the API server checks by more than their schemas. */
const RULED = ['Deployment', 'StatefulSet', 'Service']

/** Says of which specs a plan does not know if the API server takes them: it asks nobody, as it only reads. */
export const unaskedSpecs = (changes: readonly ObjectChange[]): string[] => {
  const names = changes.filter(isUnasked).map(({ object }) => object)
  return names.length === 0
    ? []
    : [
        `it is not known if the API server takes the specs of ${names.join(', ')}: a plan checks names, labels, fields and their types, and no other rule`,
      ]
}

const isUnasked = ({ before, after }: ObjectChange): boolean =>
  after !== undefined && RULED.includes(after.kind) && !isDeepStrictEqual(checkedSpec(before), checkedSpec(after))

/** Returns the spec without the labels and annotations of pods, whose rules a plan knows. */
const checkedSpec = (object: Typed<'Workload'> | undefined): unknown => {
  const { template, ...spec } = object?.spec ?? {}
  return { ...spec, pods: template?.spec }
}
