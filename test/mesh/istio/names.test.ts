import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  applicationIdentity,
  meshLabels,
  principal,
  telemetryLabels,
  waypointName,
} from '../../../src/mesh/istio/names.ts'
import { labelProblem } from '../../../src/platform/kubernetes/label-syntax.ts'
import { charmKubernetesLabel, truncateLabelValue } from '../../../src/platform/kubernetes/label-values.ts'
import { charmLibrary } from '../../helpers/recorded.ts'

const LONG = 'a-model-with-a-name-as-long-as-kubernetes-allows-for-namespaces'

describe('a label that cannot be made', () => {
  test.each([
    ['no model', { model: '', application: 'a' }, 'Both model_name and app_name must be at least 1 character long.'],
    [
      'no application',
      { model: 'm', application: '' },
      'Both model_name and app_name must be at least 1 character long.',
    ],
    [
      'no room',
      { model: LONG, application: 'a', prefix: 'p'.repeat(50), suffix: 'sssss' },
      'Fixed label portion (prefix, suffix, hash, and separator) is too long (63 chars); must leave at least 1 character each for model_name and app_name to fit within the 63 character limit.',
    ],
    [
      'one character too little',
      { model: 'model', application: 'application', maximumLength: 9 },
      'Fixed label portion (prefix, suffix, hash, and separator) is too long (8 chars); must leave at least 1 character each for model_name and app_name to fit within the 9 character limit.',
    ],
  ])('%s', (_, parts, message) => {
    expect(() => charmKubernetesLabel(parts)).toThrow(new RangeError(message))
  })
})

test.each([
  [{ model: 'm', application: 'a' }, 'm.a'],
  [{ model: 'm', application: 'a', separator: '-', prefix: 'p/', suffix: '-s' }, 'p/m-a-s'],
  [{ model: 'm', application: 'a', maximumLength: 3 }, 'm.a'],
  [{ model: 'm', application: 'a', prefix: 'p'.repeat(60) }, `${'p'.repeat(60)}m.a`],
  [{ model: 'model', application: 'application', maximumLength: 10 }, 'm.a.c146d4'],
  [{ model: 'model', application: 'application', maximumLength: 13 }, 'm.appl.c146d4'],
  [{ model: LONG, application: 'a' }, 'a-model-with-a-name-as-long-as-kubernetes-allows-for-n.a.34869e'],
  [{ model: 'm', application: LONG }, 'm.a-model-with-a-name-as-long-as-kubernetes-allows-for-n.1f2fe2'],
])('%j is %s', (parts, label) => {
  expect(charmKubernetesLabel(parts)).toBe(label)
})

test.each([
  ['', ''],
  ['x'.repeat(63), 'x'.repeat(63)],
  [`${LONG}a`, 'a-model-with-a-name-as-long-as-kubernetes-allows-for-n-954783ac'],
])('%s is cut to %s', (value, label) => {
  expect(truncateLabelValue(value)).toBe(label)
})

const kubernetesName = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)

describe('names of Kubernetes', () => {
  test('what is made of them is within 63 characters, good, and another one for another application', () => {
    const owner = fc.record({ model: kubernetesName, application: kubernetesName })
    fc.assert(
      fc.property(owner, owner, (one, other) => {
        const made = [one, other].map(({ model, application }) => {
          const identity = applicationIdentity({ model, application })
          const [key = ''] = Object.keys(telemetryLabels(application, model))
          const waypoint = waypointName(model, application)
          expect(key.length).toBeLessThanOrEqual(63)
          expect(labelProblem(key, identity)).toBeUndefined()
          expect(waypoint).toMatch(/^[a-z0-9][-a-z0-9]{0,61}[a-z0-9]$/)
          return { identity, key, waypoint }
        })
        const isSame = one.model === other.model && one.application === other.application
        expect(made[0]?.identity === made[1]?.identity).toBe(isSame)
        expect(made[0]?.key === made[1]?.key).toBe(isSame)
      }),
    )
  })

  test('any text is cut to a bounded length', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 200 }),
        fc.string({ minLength: 1, maxLength: 200 }),
        fc.integer({ min: 10, max: 80 }),
        (model, application, maximumLength) => {
          const label = charmKubernetesLabel({ model, application, maximumLength })
          expect(label.length).toBeLessThanOrEqual(maximumLength)
          expect(truncateLabelValue(model + application).length).toBeLessThanOrEqual(63)
        },
      ),
    )
  })
})

test('the names of a beacon', () => {
  expect(waypointName('istio-system', 'beacon')).toBe('istio-system-beacon-waypoint')
  expect(applicationIdentity({ model: 'istio-system', application: 'beacon' })).toBe('istio-system.beacon')
  expect(telemetryLabels('beacon', 'istio-system')).toEqual({
    'charms.canonical.com/istio-system.beacon.telemetry': 'aggregated',
  })
  expect(meshLabels({ model: 'istio-system', application: 'beacon' })).toEqual({
    'istio.io/dataplane-mode': 'ambient',
    'istio.io/use-waypoint': 'istio-system-beacon-waypoint',
    'istio.io/use-waypoint-namespace': 'istio-system',
  })
  expect(principal({ trustDomain: 'cluster.local', namespace: 'shop', serviceAccount: 'web' })).toBe(
    'cluster.local/ns/shop/sa/web',
  )
})

test.each(charmLibrary().labels)('the label $label is that of the charm library', ({ given, label }) => {
  expect(charmKubernetesLabel(given)).toBe(label)
})

test.each(charmLibrary().labelValues)('the label value $value is that of the charm library', ({ given, value }) => {
  expect(truncateLabelValue(given)).toBe(value)
})
