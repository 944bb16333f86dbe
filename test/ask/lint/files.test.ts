import { describe, expect, test } from 'vitest'
import { fileFindings, otherDocuments } from '../../../src/ask/lint/files.ts'

const found = (text: string) =>
  fileFindings(text, 'a.yaml').map(({ rule, about, line, message }) => [rule, about, line, message])

const ANY = expect.any(String)

describe('the name of a policy in a file', () => {
  const of = (metadata: string, kind = 'AuthorizationPolicy') => found(`{ kind: ${kind}${metadata}, spec: {} }`)

  test.each(['AuthorizationPolicy', 'PeerAuthentication'])('of the kind %s is told where it is missing', (kind) => {
    const kindOf = (name: string) => `${kind} ${name}`
    const refused = ['name-missing', kind, 1, 'it has no metadata.name, and the API server refuses it']
    const home = ['namespace-missing', kind, 1, expect.stringContaining('it has no metadata.namespace')]
    expect(of('', kind)).toEqual([refused, home])
    expect(of(', metadata: null', kind)).toEqual([refused, home])
    expect(of(', metadata: { namespace: shop }', kind)).toMatchObject([['name-missing', kindOf('shop'), 1, ANY]])
    expect(of(', metadata: { name: a }', kind)).toMatchObject([['namespace-missing', kindOf('a'), 1, ANY]])
  })

  test('the name of a policy in a file may be one that the API server makes', () => {
    expect(of(', metadata: { generateName: a-, namespace: shop }')).toEqual([])
  })
})

describe('a field that is null is as absent, as an API server leaves it out', () => {
  const of = (spec: string, metadata = '', kind = 'AuthorizationPolicy') =>
    found(`{ kind: ${kind}, metadata: { name: a, namespace: shop${metadata} }, spec: ${spec} }`)

  test.each([
    ['an object', 'null'],
    ['a selector', '{ selector: null, rules: [{ from: [{ source: { namespaces: [a] } }] }] }'],
    ['rules', '{ selector: { matchLabels: { a: b } }, rules: null }'],
    ['a field within rules', '{ rules: [{ from: [{ source: { namespaces: [a], principals: null } }], when: null }] }'],
  ])('of %s', (_, spec) => {
    expect(of(spec)).toEqual([])
  })

  test('of metadata', () => {
    expect(of('{}', ', annotations: null, labels: null')).toEqual([])
    expect(of('{}', ', generateName: null, annotations: { meshstep.dev/allow: null }')).toEqual([])
  })

  test.each(['{ selector: null }', '{ mtls: { mode: null } }', '{ mtls: null, portLevelMtls: null }'])(
    'of a PeerAuthentication: %s',
    (spec) => {
      expect(of(spec, '', 'PeerAuthentication')).toEqual([])
    },
  )

  test('a field that is null is as absent, as an API server leaves it out, but not in a list, which is refused', () => {
    expect(of('{ rules: [null] }')).toMatchObject([['policy-unreadable', 'AuthorizationPolicy shop/a', 1, ANY]])
  })
})

describe('a PeerAuthentication', () => {
  const of = (spec: string) =>
    found(`{ kind: PeerAuthentication, metadata: { name: a, namespace: shop }, spec: ${spec} }`)

  test.each([
    [
      'of an unknown mode',
      '{ mtls: { mode: STRIKT } }',
      'spec.mtls.mode: expected UNSET, DISABLE, PERMISSIVE or STRICT',
    ],
    ['of an unknown field', '{ mlts: { mode: STRICT } }', 'spec: Unrecognized key: "mlts"'],
    [
      'of ports without a selector',
      '{ portLevelMtls: { 80: { mode: STRICT } } }',
      'spec.portLevelMtls: expected a selector',
    ],
    [
      'of ports of a selector without labels',
      '{ selector: { matchLabels: {} }, portLevelMtls: { 80: { mode: STRICT } } }',
      'spec.portLevelMtls: expected a selector with labels, without which ports are ignored',
    ],
    [
      'of no ports',
      '{ selector: { matchLabels: { a: b } }, portLevelMtls: {} }',
      'spec.portLevelMtls: expected a port',
    ],
    [
      'of a port that is none',
      '{ selector: { matchLabels: { a: b } }, portLevelMtls: { http: { mode: STRICT } } }',
      'expected ports from 1 to 65535',
    ],
    [
      'of a label with a wildcard',
      '{ selector: { matchLabels: { a: "b*" } } }',
      'spec.selector.matchLabels.a: expected at most 63 characters, and no wildcard',
    ],
    [
      'of a label whose key has a wildcard',
      '{ selector: { matchLabels: { "a*": b } } }',
      'expected a key without a wildcard',
    ],
  ])('%s is told', (_, spec, message) => {
    expect(of(spec)).toEqual([
      ['peer-authentication-refused', 'PeerAuthentication shop/a', 1, expect.stringContaining(message)],
    ])
  })

  test.each([
    'null',
    '{}',
    '{ mtls: { mode: STRICT } }',
    '{ selector: { matchLabels: { a: b } }, portLevelMtls: { 80: {} } }',
  ])('of %s is no finding', (spec) => {
    expect(of(spec)).toEqual([])
  })
})

describe('a config document', () => {
  const document = (config: string, metadata = '') => `
apiVersion: v1
kind: ConfigMap
metadata: { name: db, namespace: shop, labels: { meshstep.dev/kind: config }${metadata} }
data:
  application: db
  config: |
    rawPolicies:
      - apiVersion: security.istio.io/v1
        kind: AuthorizationPolicy
        metadata: { name: one }
        spec: ${config}
`
  const LOWER = '{ targetRefs: [{ kind: Service, name: db }], rules: [{ to: [{ operation: { methods: [get] } }] }] }'

  test('a config document has its policies judged, in the namespace of the document', () => {
    expect(found(document(LOWER))).toMatchObject([['value-unmatched', 'AuthorizationPolicy shop/one', 2, ANY]])
    expect(found(document('{ action: DENY }'))).toMatchObject([
      ['policy-refused', 'AuthorizationPolicy shop/one', 2, ANY],
    ])
  })

  test.each([
    ['a comment', document(`${LOWER} # meshstep: allow value-unmatched`)],
    ['its annotation', document(LOWER, ', annotations: { meshstep.dev/allow: value-unmatched }')],
    [
      'the annotation of the policy',
      document(LOWER).replace('{ name: one }', '{ name: one, annotations: { meshstep.dev/allow: value-unmatched } }'),
    ],
  ])('a config document allows a finding by %s', (_, text) => {
    expect(found(text)).toEqual([])
  })

  test('a config document that cannot be read is told', () => {
    const [refused, about] = ['document-refused', 'ConfigMap shop/db']
    expect(found(document('{ rules: 3 }'))).toMatchObject([[refused, about, 2, expect.stringContaining('rawPolicies')]])
    expect(found(document(LOWER).replace('  application: db\n', ''))).toEqual([
      [refused, about, 2, 'ConfigMap shop/db: data.application is missing'],
    ])
  })

  test('a config document without policies, and any other ConfigMap, is no finding', () => {
    expect(found(document(LOWER).replace(/ {4}rawPolicies[\s\S]*/, '    policies: []\n'))).toEqual([])
    expect(found('{ kind: ConfigMap, data: { config: x } }')).toEqual([])
  })
})

test('a document that cannot be read is a finding, and the others are judged', () => {
  const policy = '{ kind: AuthorizationPolicy, metadata: { name: a }, spec: {} }'
  expect(found(`{{- if .Values.x }}\n- b\n---\n${policy}\n---\na: 1\na: 2`)).toEqual([
    ['document-refused', 'a.yaml', 1, expect.stringContaining('Block collections')],
    ['namespace-missing', 'AuthorizationPolicy a', 4, ANY],
    ['document-refused', 'a.yaml', 7, expect.stringContaining('Map keys must be unique at line 7')],
  ])
})

describe('what is no policy', () => {
  const POLICY = '{ metadata: { name: a, namespace: shop }, spec: { action: DENY } }'

  test('items of a typed list have its kind', () => {
    const list = (kind: string) => `{ apiVersion: security.istio.io/v1, kind: ${kind}, items: [${POLICY}] }`
    expect(found(list('AuthorizationPolicyList'))).toEqual([['policy-refused', ANY, 1, ANY]])
    expect(found(list('List'))).toEqual([])
  })

  test('a kind that Istio does not have is told, with the one that may be meant', () => {
    expect(found('{ apiVersion: security.istio.io/v1, kind: AuthorizationPolcy, metadata: { name: a } }')).toEqual([
      [
        'document-refused',
        'a.yaml',
        1,
        'security.istio.io/v1 has no kind AuthorizationPolcy, did you mean AuthorizationPolicy?',
      ],
    ])
    expect(found('{ apiVersion: security.istio.io/v1, kind: RequestAuthentication, metadata: { name: a } }')).toEqual(
      [],
    )
  })

  test('documents that are no objects are named, and empty ones are not', () => {
    expect(otherDocuments('hello\n---\n# nothing\n---\npolicies: []\n---\nKind: Pod\n---\nkind: Pod\n')).toEqual([
      1, 5, 7,
    ])
  })
})
