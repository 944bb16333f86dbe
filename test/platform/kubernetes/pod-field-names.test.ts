import { expect, test } from 'vitest'
import { modelShape } from '../../../src/embedded/kinds/models.ts'
import { nearestName } from '../../../src/platform/base/nearest-name.ts'
import type { Shape } from '../../../src/platform/kubernetes/managed-fields/shape.ts'
import { FIELD_NAMES } from '../../../src/platform/kubernetes/pod-field-names.ts'

/** The fields of everything that a pod spec is made of. */
const fieldsIn = (shape: Shape, seen = new Set<string>()): string[] => {
  const inner = shape.items ?? shape.values
  if (inner) return fieldsIn(inner, seen)
  if (shape.fields === undefined || seen.has(String(shape.name))) return []
  seen.add(String(shape.name))
  return Object.entries(shape.fields()).flatMap(([name, field]) => [name, ...fieldsIn(field, seen)])
}

test('every name is a field of a pod, and every field of pods and containers has its name', () => {
  expect(FIELD_NAMES.filter((name) => !fieldsIn(modelShape('V1PodSpec')).includes(name))).toEqual([])
  const most = ['V1PodSpec', 'V1Container', 'V1Probe', 'V1EnvVar', 'V1ContainerPort', 'V1VolumeMount']
  const needed = most.flatMap((model) => Object.keys(modelShape(model).fields?.() ?? {}))
  expect(needed.filter((name) => !FIELD_NAMES.includes(name))).toEqual([])
})

test.each([
  ['livenesProbe', 'livenessProbe'],
  ['hostnetwork', 'hostNetwork'],
  ['imagePullSecret', 'imagePullSecrets'],
  ['contianers', 'containers'],
  ['pth', 'path'],
  ['unheardOf', undefined],
  ['x', undefined],
])('%s is nearest to %s', (name, nearest) => {
  expect(nearestName(name, FIELD_NAMES)).toBe(nearest)
})
