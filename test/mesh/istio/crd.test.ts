import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AuthorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import { readAuthorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import {
  externalTraffic,
  hardenedMode,
  ingressToBackend,
  modeloperatorAllow,
} from '../../../src/mesh/istio/beacon-policies.ts'
import { authorizationPolicies } from '../../../src/mesh/istio/grant.ts'
import { validators } from '../../knative/crd-schema.ts'
import { always, arbitraryPolicy, endpoint, meshPolicy, owner, request } from './samples.ts'

const manySources = Array.from({ length: 600 }, (_, index) =>
  request(meshPolicy({ source_app_name: `web-${index}`, endpoints: [endpoint({ ports: [index + 1] })] })),
)

const fixed: AuthorizationPolicy[] = [
  ...hardenedMode(owner, 'istio-system'),
  modeloperatorAllow(owner),
  externalTraffic(owner, { gateway: 'ingress', cidrs: ['0.0.0.0/0'] }),
  externalTraffic(owner, { gateway: 'ingress', cidrs: [] }),
  ...ingressToBackend(owner, { namespace: 'bank', application: 'web', ports: [80] }, 'cluster.local'),
  ...authorizationPolicies(manySources, owner),
]

const granted = fc.array(arbitraryPolicy, { maxLength: 12 }).map((policies) =>
  authorizationPolicies(
    policies.map((policy) => request(policy)),
    owner,
  ),
)

describe('the schema of the CRD', () => {
  const validate = validators.get('security.istio.io/v1 AuthorizationPolicy')
  const problems = (object: AuthorizationPolicy) =>
    validate?.(object) ? [] : (validate?.errors ?? ['there is no schema'])

  test.each(fixed.map((object) => [object.metadata.name, object] as const))(
    'the schema of the CRD takes %s',
    (_, object) => {
      expect(problems(object)).toEqual([])
    },
  )

  test('the schema of the CRD takes every granted object', () => {
    always(
      fc.property(granted, (objects) => {
        for (const object of objects) expect(problems(object)).toEqual([])
      }),
    )
  })

  test('the schema of the CRD would not take a port that is a number, nor 513 rules', () => {
    const [object] = authorizationPolicies([request(meshPolicy())], owner)
    const withRules = (rules: unknown) => ({ ...object, spec: { ...object?.spec, rules } }) as AuthorizationPolicy
    expect(problems(withRules([{ to: [{ operation: { ports: [80] } }] }]))).not.toEqual([])
    expect(problems(withRules(Array.from({ length: 513 }, () => ({}))))).not.toEqual([])
  })
})

/** What the CRD says in CEL, which its schema cannot: each rule by its message. */
const celProblems = ({ spec }: AuthorizationPolicy): string[] => {
  const sources = (spec.rules ?? []).flatMap(({ from = [] }) => from.map(({ source = {} }) => source))
  const labels = Object.entries(spec.selector?.matchLabels ?? {})
  const rules: [message: string, isConfigurationError: boolean][] = [
    [
      'only one of targetRefs or selector can be set',
      [spec.selector, spec.targetRef, spec.targetRefs].filter((one) => one !== undefined).length > 1,
    ],
    [
      'Cannot set serviceAccounts with namespaces or principals',
      sources.some((one) => (one.serviceAccounts ?? one.notServiceAccounts) && (one.principals ?? one.namespaces)),
    ],
    ['wildcard not allowed in label key match', labels.some(([key]) => key.includes('*'))],
    ['key must not be empty', labels.some(([key]) => key === '')],
    ['wildcard not allowed in label value match', labels.some(([, value]) => value.includes('*'))],
    [
      'cross namespace referencing is not currently supported',
      (spec.targetRefs ?? []).some(({ namespace = '' }) => namespace !== ''),
    ],
  ]
  return rules.filter(([, isConfigurationError]) => isConfigurationError).map(([message]) => message)
}

/** What Istio's webhook refuses: a source or an operation that says nothing. */
const isEmpty = (fields: object | undefined): boolean =>
  !Object.values(fields ?? {}).some((list) => Array.isArray(list) && list.length > 0)

const webhookProblems = ({ spec }: AuthorizationPolicy): string[] =>
  (spec.rules ?? []).flatMap(({ from, to }) => [
    ...(from?.some(({ source }) => isEmpty(source)) || from?.length === 0 ? ['empty from'] : []),
    ...(to?.some(({ operation }) => isEmpty(operation)) || to?.length === 0 ? ['empty to'] : []),
  ])

test('the CEL rules of the CRD and the webhook hold for every object', () => {
  const problems = (objects: AuthorizationPolicy[]) =>
    objects.flatMap((one) => [...celProblems(one), ...webhookProblems(one)])
  expect(problems(fixed)).toEqual([])
  always(
    fc.property(granted, (objects) => {
      expect(problems(objects)).toEqual([])
    }),
  )
})

describe('objects as the API server has them', () => {
  test('objects as the API server has them are read as they were made', () => {
    always(
      fc.property(granted, (objects) => {
        for (const object of [...objects, ...fixed]) expect(readAuthorizationPolicy(object)).toEqual({ policy: object })
      }),
      20,
    )
  })

  test.each<[string, object, RegExp]>([
    ['a field that is not known', { rules: [{ from: [{ source: { planets: ['mars'] } }] }] }, /shop\/odd: .*planets/],
    ['an action that is not known', { action: 'MAYBE' }, /shop\/odd: .*MAYBE|shop\/odd: .*action/],
    ['ports that are numbers', { rules: [{ to: [{ operation: { ports: [80] } }] }] }, /shop\/odd: .*ports/],
  ])('%s makes one unreadable, rather than open', (_, spec, message) => {
    const object = { apiVersion: '', kind: '', metadata: { name: 'odd', namespace: 'shop' }, spec: { ...spec } }
    expect(readAuthorizationPolicy(object)).toEqual({
      unreadable: expect.stringMatching(message),
      namespace: 'shop',
      name: 'odd',
      attachment: {},
    })
  })

  test.each([
    ['that is misspelt', { principal: ['x'] }, 'Unrecognized key: "principal", did you mean principals?'],
    ['of another kind', { methods: ['GET'] }, 'Unrecognized key: "methods"'],
    ['beside another', { a: [], b: [] }, 'Unrecognized keys: "a", "b"'],
  ])('a field %s is named, with the known one that is near', (_, source, message) => {
    const spec = { rules: [{ from: [{ source }] }] }
    const object = { apiVersion: '', kind: '', metadata: { name: 'odd', namespace: 'shop' }, spec }
    expect(readAuthorizationPolicy(object)).toMatchObject({
      unreadable: `AuthorizationPolicy shop/odd: spec.rules[0].from[0].source: ${message}`,
    })
  })

  test.each<[string, object, object | undefined]>([
    ['rules', { selector: { matchLabels: { a: 'b' } }, rules: 1 }, { selector: { matchLabels: { a: 'b' } } }],
    ['a target', { targetRefs: [{ name: 'db' }], rules: [{}] }, undefined],
    ['a selector', { selector: { matchExpressions: [] } }, undefined],
    ['a field that may say where', { sites: ['mars'] }, undefined],
  ])('where one holds that has unreadable %s', (_, spec, attachment) => {
    const object = { apiVersion: '', kind: '', metadata: { name: 'odd', namespace: 'shop' }, spec: { ...spec } }
    const read = readAuthorizationPolicy(object)
    expect('attachment' in read ? read.attachment : undefined).toEqual(attachment)
  })
})
