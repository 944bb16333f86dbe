import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { joinPods } from '../../../src/ask/lint/file-objects.ts'
import { fileFindings, podsIn } from '../../../src/ask/lint/files.ts'
import { RULES } from '../../../src/ask/lint/rules.ts'
import { rulesMarkdown } from '../../../src/ask/lint/rules-markdown.ts'
import { sarif } from '../../../src/ask/lint/sarif.ts'

const ids = Object.keys(RULES)

test('each id is in kebab case, in order, and found by some code', () => {
  const code = [...globSync('src/ask/lint/*.ts'), ...globSync('src/mesh/istio/*mistakes.ts')]
    .filter((file) => !/rules\.ts$|rule-ids\.ts$/.test(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  expect(ids).toEqual(ids.toSorted())
  expect(ids.filter((id) => !/^[a-z]+(-[a-z]+)*$/.test(id))).toEqual([])
  expect(ids.filter((id) => !code.includes(`'${id}'`))).toEqual([])
})

test('the page of docs is the table: npm run schemas writes it', () => {
  expect(readFileSync('docs/lint.md', 'utf8')).toBe(rulesMarkdown())
})

const POLICY = `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: one, namespace: shop }
spec: { selector: {}, action: DENY, rules: [{ to: [{ operation: { paths: [/admin] } }] }] }
`

const found = (text: string) => fileFindings(text, 'a.yaml').map(({ rule, line }) => [rule, line])

test('policies of a file are judged one by one, and the line of each is known', () => {
  expect(found(`# the first\nkind: Other\nmetadata: { name: x }\n---${POLICY}`)).toEqual([
    ['policy-ineffective', 5],
    ['http-without-waypoint', 5],
  ])
})

test.each([
  ['a comment before the document', `# meshstep: allow policy-ineffective${POLICY}`],
  ['a comment in the document', POLICY.replace('spec:', '# meshstep: allow policy-ineffective, port-unknown\nspec:')],
  ['a comment with a reason', `# meshstep: allow policy-ineffective because it is, port-unknown${POLICY}`],
  ['its annotation', POLICY.replace('shop }', 'shop, annotations: { meshstep.dev/allow: policy-ineffective } }')],
])('a finding in a file is allowed by %s, and of no other document', (_, text) => {
  const rules = found(`${text}---${POLICY}`).map(([rule]) => rule)
  expect(rules).toEqual(['http-without-waypoint', 'policy-ineffective', 'http-without-waypoint'])
})

test.each([
  ['a comment', `# meshstep: allow selects-al${POLICY}`],
  ['its annotation', POLICY.replace('shop }', 'shop, annotations: { meshstep.dev/allow: selects-al } }')],
])('an id that nothing has is told where %s allows it', (_, text) => {
  const told = fileFindings(text, 'a.yaml').find(({ rule }) => rule === 'allow-unknown')
  expect(told?.message).toBe('selects-al is the id of no finding: it allows nothing')
})

test('of a file nothing is said that depends on the root namespace, or on a namespace that it does not name', () => {
  const at = (metadata: string, target: string) => `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: one${metadata} }
spec: { targetRefs: [{ ${target} }], rules: [{}] }
`
  const ofClass = 'group: gateway.networking.k8s.io, kind: GatewayClass, name: istio-waypoint'
  expect(found(at(', namespace: mesh-root', ofClass))).toEqual([])
  expect(found(at('', ofClass)).map(([rule]) => rule)).toEqual(['namespace-missing'])
  const elsewhere = 'kind: Service, name: db, namespace: shop'
  expect(found(at('', elsewhere)).map(([rule]) => rule)).not.toContain('target-outside-namespace')
  expect(found(at(', namespace: bank', elsewhere)).map(([rule]) => rule)).toContain('target-outside-namespace')
})

test.each([
  ['istio: ingressgateway', ['proxy-unknown']],
  ['app: istio-ingressgateway', ['proxy-unknown']],
  ['gateway.networking.k8s.io/gateway-name: edge', []],
  ['app: web', ['proxy-unknown']],
])(
  'of a file alone it is known of a policy by the label of a Gateway, and by no other, that Envoys enforce it: %s',
  (label, told) => {
    const rule = '{ from: [{ source: { principals: [partner] } }], to: [{ operation: { hosts: [a.example] } }] }'
    const spec = `{ selector: { matchLabels: { ${label} } }, rules: [${rule}] }`
    const text = `{ kind: AuthorizationPolicy, metadata: { name: a, namespace: b }, spec: ${spec} }`
    expect(fileFindings(text, 'a.yaml').map(({ rule }) => rule)).toEqual(told)
  },
)

const INGRESS = 'spec: { containers: [{ name: istio-proxy, image: proxy }] }'
const INJECTED = 'spec: { containers: [{ name: istio-proxy, image: auto }, { name: app }] }'
const TEMPLATE = 'spec: { containers: [{ name: any, image: auto }] }'

describe('of files, who enforces a policy is told by what its selector picks in them', () => {
  const custom = (namespace: string) => `
kind: AuthorizationPolicy
metadata: { name: a, namespace: ${namespace} }
spec: { action: CUSTOM, provider: { name: p }, selector: { matchLabels: { app: edge } }, rules: [{ to: [{ operation: { hosts: [a.example] } }] }] }`
  const workload = (kind: string, pod: string, { namespace = 'mesh', more = '' } = {}) => `
kind: ${kind}
metadata: { name: edge, namespace: ${namespace} }
spec: { template: { metadata: { labels: { app: edge }${more} }, ${pod} } }`
  const templates = ", annotations: { inject.istio.io/templates: 'gateway' }"
  const inject = ', sidecar.istio.io/inject: "true"'

  test.each<[string, string, string[]]>([
    ['a gateway that was deployed with its container', workload('Deployment', INGRESS), []],
    ['a gateway as a DaemonSet', workload('DaemonSet', INGRESS), []],
    [
      'a gateway that is made by the template for gateways',
      workload('Deployment', TEMPLATE, { more: templates }).replace('app: edge }', `app: edge${inject} }`),
      [],
    ],
    ['a sidecar', workload('StatefulSet', INJECTED), []],
    [
      'a workload behind a ztunnel',
      workload('Deployment', 'spec: { containers: [{ name: app }] }'),
      ['policy-ineffective'],
    ],
    [
      'two, of which one is behind a ztunnel',
      `${workload('Deployment', INGRESS)}\n---${workload('StatefulSet', 'spec: {}')}`,
      ['policy-ineffective'],
    ],
    ['a workload of another namespace', workload('Deployment', INGRESS, { namespace: 'other' }), ['proxy-unknown']],
  ])('%s', (_, text, told) => {
    const known = joinPods([podsIn(text), podsIn(custom('mesh'))])
    expect(fileFindings(custom('mesh'), 'a.yaml', known).map(({ rule }) => rule)).toEqual(told)
  })

  test('where they have none of these labels, both possibilities are told as a note', () => {
    const [found, ...others] = fileFindings(custom('mesh'), 'a.yaml')
    expect(others).toEqual([])
    expect(found).toMatchObject({ rule: 'proxy-unknown', about: 'AuthorizationPolicy mesh/a' })
    expect(found?.message).toMatch(/their Envoy enforces it; at other pods it has no effect at pods, whose ztunnel/)
    expect(RULES['proxy-unknown'].level).toBe('note')
  })
})

test('what Istio would refuse is found in a file', () => {
  expect(found(POLICY.replace('DENY', 'CUSTOM'))).toContainEqual(['policy-refused', 2])
  expect(found(POLICY.replace('DENY', 'REFUSE'))).toEqual([['policy-unreadable', 2]])
})

test('SARIF has each rule, and each finding with its place', () => {
  const log = sarif(fileFindings(POLICY, 'my policies/a.yaml'), '1.2.3') as {
    version: string
    runs: { tool: { driver: { version: string; rules: { id: string }[] } }; results: unknown[] }[]
  }
  expect(log.version).toBe('2.1.0')
  const [run] = log.runs
  expect(run?.tool.driver.rules.map(({ id }) => id)).toEqual(ids)
  expect(run?.results[0]).toMatchObject({
    ...{ ruleId: 'policy-ineffective', ruleIndex: ids.indexOf('policy-ineffective'), level: 'warning' },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: 'my%20policies/a.yaml' }, region: { startLine: 2 } },
        logicalLocations: [{ fullyQualifiedName: 'AuthorizationPolicy shop/one', kind: 'resource' }],
      },
    ],
  })
})
