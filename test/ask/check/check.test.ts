import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { type Facts, type Listed, RIGHTS, readFacts, type Seen } from '../../../src/ask/check/facts.ts'
import { type Check, judge } from '../../../src/ask/check/judge.ts'

const seen = (name: string, more: Partial<Seen> = {}): Seen => ({ metadata: { name, namespace: 'home' }, ...more })
const listed = (...items: Seen[]): Listed => ({ items })
const ready = (name: string, status = 'True', message = ''): Seen =>
  seen(name, { status: { conditions: [{ type: 'Ready', status, message }] } })
const versioned = (name: string, version: string, availableReplicas = 1): Seen => ({
  metadata: { name, namespace: 'istio-system', labels: { 'app.kubernetes.io/version': version } },
  status: { availableReplicas },
})
const daemons = (numberReady: number): Seen => seen('nodes', { status: { desiredNumberScheduled: 2, numberReady } })

/** A cluster that has all, with meshstep in `home`. */
const GOOD: Facts = {
  ...{ namespace: 'home', account: 'meshstep' },
  kubernetes: 'v1.36.0',
  served: [
    ...['gateway.networking.k8s.io/v1', 'security.istio.io/v1', 'serving.knative.dev/v1'],
    ...['eventing.knative.dev/v1', 'sources.knative.dev/v1'],
  ],
  skew: 400,
  lists: {
    istiod: listed(versioned('istiod', '1.29.1')),
    ztunnel: listed(daemons(2)),
    cni: listed(daemons(2)),
    serving: listed(versioned('controller', '1.23.0')),
    eventing: listed(versioned('eventing-controller', '1.22.0')),
    features: listed(seen('config-features', { data: { 'authentication-oidc': 'enabled' } })),
    services: listed(ready('meshstep')),
    brokers: listed(ready('meshstep')),
    triggers: listed(ready('meshstep-pods')),
    sources: listed(ready('meshstep-pods')),
    pings: listed(ready('meshstep-resync')),
    bindings: listed(ready('meshstep')),
  },
  rights: { missing: [] },
}

const given = (facts: Partial<Facts>, lists: Partial<Facts['lists']> = {}): Facts => ({
  ...{ ...GOOD, ...facts },
  lists: { ...GOOD.lists, ...lists },
})

/** The checks that are not well. */
const problems = (facts: Facts): Check[] => judge(facts).filter(({ result }) => result !== 'ok')

describe('what a cluster lacks', () => {
  test.each<[string, Facts, Partial<Check>]>([
    ['an old Kubernetes', given({ kubernetes: 'v1.29.4' }), { check: 'Kubernetes', result: 'failed' }],
    ['a Kubernetes that says no version', given({ kubernetes: '' }), { check: 'Kubernetes', result: 'unknown' }],
    ['a clock that is far off', given({ skew: -400_000 }), { check: 'clock', result: 'failed' }],
    ['no time', given({ skew: undefined }), { check: 'clock', result: 'unknown' }],
    [
      'an API that is not served',
      given({ served: GOOD.served.filter((one) => one !== 'security.istio.io/v1') }),
      { check: 'security.istio.io/v1', result: 'failed', todo: 'install Istio in ambient mode' },
    ],
    ['no Istio', given({}, { istiod: listed() }), { check: 'istiod', result: 'failed', todo: 'install Istio' }],
    [
      'an old Istio',
      given({}, { istiod: listed(versioned('istiod', '1.24.3')) }),
      { check: 'istiod', result: 'failed', message: 'istio-system/istiod 1.24.3' },
    ],
    [
      'an Istio whose image alone has its version',
      given(
        {},
        {
          istiod: listed(
            seen('istiod', { spec: { containers: [{ image: 'pilot:1.20.1' }] }, status: { availableReplicas: 1 } }),
          ),
        },
      ),
      { check: 'istiod', result: 'failed', message: 'home/istiod 1.20.1' },
    ],
    [
      'an istiod without pods',
      given({}, { istiod: listed(versioned('istiod', '1.29.1', 0)) }),
      { check: 'istiod', result: 'failed', todo: 'look at its pods' },
    ],
    [
      'an old Istio beside a new one',
      given({}, { istiod: listed(versioned('istiod', '1.29.1'), versioned('istiod-old', '1.10.0')) }),
      { check: 'istiod', result: 'failed', message: 'istio-system/istiod-old 1.10.0' },
    ],
    ['a ztunnel on no node', given({}, { ztunnel: listed(seen('ztunnel')) }), { check: 'ztunnel', result: 'failed' }],
    ['no ztunnel', given({}, { ztunnel: listed() }), { check: 'ztunnel', result: 'failed' }],
    [
      'a node without the CNI',
      given({}, { cni: listed(daemons(1)) }),
      { check: 'cni', result: 'failed', message: '1 of 2 nodes are ready' },
    ],
    [
      'a list that may not be read',
      given({}, { cni: { unknown: 'GET /x: 403 no' } }),
      { check: 'cni', result: 'unknown', message: 'GET /x: 403 no' },
    ],
    ['no Knative', given({}, { serving: listed() }), { check: 'knative-serving', result: 'failed' }],
    [
      'a Knative that is down',
      given({}, { eventing: listed(versioned('eventing-controller', '1.22.0', 0)) }),
      { check: 'knative-eventing', result: 'failed', message: 'not available: eventing-controller' },
    ],
    ['no authentication', given({}, { features: listed() }), { check: 'authentication-oidc', result: 'warning' }],
    [
      'a source that is not ready',
      given({}, { sources: listed(ready('meshstep-pods', 'False', 'no sink')) }),
      {
        ...{ check: 'ApiServerSource meshstep-pods', result: 'failed', message: 'no sink' },
        todo: 'kubectl describe -n home apiserversource meshstep-pods',
      },
    ],
    ['no broker', given({}, { brokers: listed() }), { check: 'Broker', result: 'failed', todo: 'apply the manifests' }],
    [
      'an account without rights',
      given({ rights: { missing: ['patch pods'] } }),
      { check: 'rights', result: 'failed', message: 'the account home/meshstep may not patch pods' },
    ],
    ['rights that nobody may ask for', given({ rights: { unknown: '403' } }), { check: 'rights', result: 'unknown' }],
  ])('%s is named, alone', (_, facts, problem) => {
    expect(problems(facts)).toMatchObject([problem])
  })

  test('a cluster that has all has no problem, and before it is installed it is a warning that meshstep is not there', () => {
    expect(problems(GOOD)).toEqual([])
    const idle = listed(versioned('istiod-old', '1.10.0', 0), versioned('istiod', '1.29.1'))
    expect(problems(given({}, { istiod: idle }))).toEqual([])
    expect(problems(given({ rights: { missing: ['get pods'] } }, { services: listed() }))).toMatchObject([
      { check: 'meshstep', result: 'warning', message: 'not installed in home' },
    ])
  })
})

test('the rights that are asked for are those of the Role of a step', () => {
  const [role] = parseAllDocuments(readFileSync('knative/base/rbac.yaml', 'utf8'))
    .map((document) => document.toJS())
    .filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'meshstep-step')
  const granted = role.rules.flatMap(({ apiGroups, resources, verbs }: Record<string, string[]>) =>
    (resources ?? []).map((resource) => [apiGroups?.[0], resource, verbs]),
  )
  expect(RIGHTS).toEqual(granted)
})

describe('what is read of a cluster', () => {
  const read = async (answers: Readonly<Record<string, [status: number, body: unknown]>>) => {
    const calls: string[] = []
    const facts = await readFacts(
      async ({ method, path, body }) => {
        calls.push(`${method} ${path}`)
        const verb = body && JSON.parse(body).spec.resourceAttributes.verb
        const [status, answer] = answers[verb ?? path.replace(/\?.*/, '')] ?? [404, {}]
        return { status, headers: { date: new Date().toUTCString() }, body: JSON.stringify(answer) }
      },
      'home',
      'meshstep',
    )
    return { facts, calls }
  }

  test('nothing is written: rights alone are asked for with POST', async () => {
    const { calls } = await read({ get: [201, { status: { allowed: true } }] })
    const reviews = 'POST /apis/authorization.k8s.io/v1/subjectaccessreviews'
    expect(new Set(calls.filter((call) => !call.startsWith('GET ')))).toEqual(new Set([reviews]))
  })

  test('what is absent, may not be read, or may not be asked for is told apart', async () => {
    const { facts } = await read({
      '/version': [200, { gitVersion: 'v1.36.0' }],
      '/apis': [200, { groups: [{ versions: [{ groupVersion: 'a/v1' }] }] }],
      '/apis/apps/v1/daemonsets': [403, { message: 'not you' }],
      '/apis/apps/v1/deployments': [200, { items: [seen('istiod')] }],
    })
    expect(facts).toMatchObject({
      ...{ kubernetes: 'v1.36.0', served: ['a/v1'], rights: { unknown: 'SubjectAccessReview: 404' } },
      lists: {
        ...{ istiod: { items: [{ metadata: { name: 'istiod' } }] }, serving: { items: [] } },
        ztunnel: { unknown: 'GET /apis/apps/v1/daemonsets: 403 not you' },
      },
    })
    expect(Math.abs(facts.skew ?? Number.NaN)).toBeLessThan(2_000)
    const allowed = Object.fromEntries(
      ['get', 'list', 'create', 'update', 'patch'].map((verb) => [
        verb,
        [201, { status: { allowed: true } }] as [number, unknown],
      ]),
    )
    const { facts: other } = await read({ ...allowed, delete: [201, { status: { allowed: false } }] })
    expect(other.rights).toEqual({
      missing: RIGHTS.filter(([, , verbs]) => verbs.includes('delete')).map(
        ([group, resource]) => `delete ${resource}${group && `.${group}`}`,
      ),
    })
  })
})
