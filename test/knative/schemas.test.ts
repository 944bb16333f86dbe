import { describe, expect, test } from 'vitest'
import { builds, cannotBuild } from './builds.ts'
import { validators } from './crd-schema.ts'
import type { KubeObject } from './kinds.ts'

const validate = (object: KubeObject): string[] => {
  const type = `${object.apiVersion} ${object.kind}`
  const validator = validators.get(type)
  if (!validator) return [`${type}: no such type`]
  validator(object)
  return (validator.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

const isKnative = ({ apiVersion }: KubeObject): boolean => apiVersion.includes('.knative.dev/')

describe.skipIf(cannotBuild)(`schemas ${cannotBuild ?? ''}`, () => {
  describe.each(builds)('$name', ({ objects, components }) => {
    test.each(objects.filter(isKnative).map((object) => ({ object, name: object.metadata.name, kind: object.kind })))(
      '$kind $name is what its CRD describes',
      ({ object }) => expect(validate(object)).toEqual([]),
    )

    test('everything else is of a kind that Kubernetes itself serves', () => {
      const types = objects.filter((object) => !isKnative(object)).map(({ apiVersion }) => apiVersion)
      const guards = components.includes('authentication') ? ['admissionregistration.k8s.io/v1'] : []
      const network = components.includes('network') ? ['networking.k8s.io/v1'] : []
      const jobs = components.includes('juju') ? ['batch/v1'] : []
      const expected = [...guards, ...jobs, ...network, 'rbac.authorization.k8s.io/v1', 'v1']
      expect([...new Set(types)].toSorted()).toEqual(expected)
    })
  })

  const object = (apiVersion: string, kind: string, spec: unknown): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name: 'x', labels: {}, annotations: {} },
    spec,
  })
  const service = (container: unknown) =>
    object('serving.knative.dev/v1', 'Service', { template: { spec: { containers: [container] } } })

  test.each([
    ['a misspelt field', service({ image: 'x', arg: ['y'] }), 'additionalProperty":"arg"'],
    ['a wrong type', service({ image: 'x', args: 'y' }), 'must be array'],
    ['a bad quantity', service({ image: 'x', resources: { limits: { cpu: 'much' } } }), 'must match pattern'],
    ['a missing field', object('sources.knative.dev/v1', 'ApiServerSource', {}), 'resources'],
    ['a field of an open type', object('eventing.knative.dev/v1', 'Trigger', { brokr: 'x' }), 'brokr'],
    ['an unknown kind', object('eventing.knative.dev/v1', 'Tigger', {}), 'no such type'],
  ])('%s is reported', (_, broken, message) => {
    expect(validate(broken).join('\n')).toContain(message)
  })
})
