import { describe, expect, test } from 'vitest'
import { expected } from '../../../src/ask/authorization/check-expectations.ts'
import { readProposal } from '../../../src/ask/preview/input.ts'
import type { Plan } from '../../../src/ask/preview/preview.ts'
import type { Authenticate } from '../../../src/core/access/authenticate.ts'
import { features } from '../../../src/features.ts'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { Refused } from '../../../src/platform/base/errors.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import type { TransportRequest } from '../../../src/platform/kubernetes/client.ts'
import { type KubernetesObject, nameOf } from '../../../src/platform/kubernetes/objects.ts'
import { createApp } from '../../../src/serve/http/app.ts'
import { related, requires } from '../../helpers/beacon-world.ts'
import { application } from '../../helpers/mesh.ts'
import { event } from '../../helpers/world.ts'
import { custom, pods } from '../../mesh/istio/bookinfo.ts'
import { ISTIO, onMesh } from './compared.ts'
import { createPlace, type Place } from './planned.ts'
import { reading } from './reading.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }

const allowing = (relation: string) => ({
  ...DB,
  config: { policies: [{ type: 'app', relation, endpoints: [{ ports: [80], methods: ['GET'], paths: ['/a/*'] }] }] },
})

/** `web` may GET /a/* of `db`, over relation 3. */
const related3 = async (options: Parameters<typeof createPlace>[1] = {}): Promise<Place> => {
  const place = createPlace(['db', 'web', 'other'], options)
  place.api.seed([ISTIO])
  for (const [type, data] of [
    ['config-changed', { application: 'beacon', config: { mesh: {} } }],
    ['config-changed', allowing('use')],
    ['relation-changed', requires(1, DB)],
    ['relation-changed', requires(2, WEB)],
    ['relation-changed', requires(5, { application: 'other' })],
    ['relation-changed', related(3, 'use', WEB, DB)],
  ] as const)
    await place.happen(event(type, data))
  return place
}

const distinct = (count: number, of = (index: number) => `k${index}: 1\n`): string =>
  Array.from({ length: count }, (_, index) => of(index)).join('')

const lines = ({ access }: Plan): string[] => access.map(({ line }) => line)

describe('a plan', () => {
  test('a plan shows the host that a policy lets through no more, and the one that it lets through instead', async () => {
    const place = await related3()
    const onHost = (host: string) => {
      const endpoints = [{ hosts: [host], ports: [80], methods: ['GET'] }]
      return event('config-changed', { ...DB, config: { policies: [{ type: 'app', relation: 'use', endpoints }] } })
    }
    await place.happen(onHost('old.example'))
    const plan = await place.plan({ events: [onHost('new.example')] })
    expect(lines(plan)).toEqual(['+ web → db GET new.example:80', '- web → db GET old.example:80'])
  })

  test('a plan shows that a value of a Secret changes, and never the value', async () => {
    const place = await related3()
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'shop' } }
    place.api.seed([{ ...secret, data: { kept: 'b2xk', changed: 'b2xk' } }], { manager: 'somebody' })
    const { objects } = await place.plan({ objects: [{ ...secret, data: { kept: 'b2xk', changed: 'bmV3' } }] })
    expect(objects.map(({ object, change }) => [object, change])).toEqual([['Secret shop/s', 'changed']])
    expect(objects[0]?.diff).toContain('+  changed: … (another value)')
    expect(JSON.stringify(objects)).not.toMatch(/b2xk|bmV3/)
  })

  test('a plan shows no value of a Secret that kubectl keeps beside it', async () => {
    const place = await related3()
    const applied = { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"kept":"b2xk"}}' }
    const metadata = { name: 's', namespace: 'shop', annotations: { team: 'blue', ...applied } }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata }
    place.api.seed([{ ...secret, data: { kept: 'b2xk' } }], { manager: 'somebody' })
    const { objects } = await place.plan({ objects: [{ ...secret, data: { kept: 'bmV3' } }] })
    expect(objects[0]?.before?.metadata.annotations).toEqual({ team: 'blue' })
    expect(JSON.stringify(objects)).not.toMatch(/b2xk|bmV3/)
  })

  test('a plan shows who loses access by a typo in a policy’s relation', async () => {
    const place = await related3()
    const plan = await place.plan({ events: [event('config-changed', allowing('sue'))] })
    expect(lines(plan)).toEqual(['- web → db GET :80 /a/*'])
    expect(JSON.stringify(plan.steps)).toContain(
      'by its relations nobody may reach shop/db: no relation of endpoint sue',
    )
  })

  test('a plan says in the end what still waits, and not what did on the way', async () => {
    const place = await related3()
    const plan = await place.plan({ events: [event('application-removed', { application: 'beacon' })] })
    expect(JSON.stringify(plan.steps)).toContain('waiting for shop/db to leave the mesh')
    expect(JSON.stringify(plan.outcomes)).not.toContain('leave the mesh')
  })

  test('a plan shows who gains access', async () => {
    const place = await related3()
    const plan = await place.plan({
      events: [event('relation-changed', related(4, 'use', { application: 'other' }, DB))],
    })
    expect(lines(plan)).toEqual(['+ other → db GET :80 /a/*'])
  })

  test('a plan shows each object’s change, as it is and as a unified diff', async () => {
    const place = await related3()
    const { objects } = await place.plan({ events: [event('relation-broken', { ...DB, relation: { id: 3 } })] })
    const [policy] = objects
    expect(objects).toHaveLength(1)
    expect(policy).toMatchObject({ change: 'changed', object: expect.stringMatching(/^AuthorizationPolicy shop\//) })
    expect(policy?.diff).toContain(`--- ${policy?.object}\n+++ ${policy?.object}\n@@`)
    expect(policy?.diff).toContain('-              - cluster.local/ns/shop/sa/web\n')
    expect(policy?.diff).not.toMatch(/managedFields|resourceVersion|uid/)
  })

  test('a plan is empty for what would change nothing', async () => {
    const place = await related3()
    expect(await place.plan({ events: [event('resync', DB)] })).toEqual({
      ...{ steps: [], outcomes: [], objects: [], access: [], expectations: [], incomplete: [], messages: [] },
    })
  })

  test('a plan reads, and never writes', async () => {
    const methods = new Set<string>()
    const place = await related3()
    const observing = createPlace([], {
      intercept: async (request: TransportRequest) => {
        methods.add(request.method)
        return place.api.handle(request)
      },
    })
    const before = JSON.stringify(place.api.objects())
    const plan = await observing.plan({ events: [event('application-removed', DB)] })
    expect(plan.objects.map(({ change }) => change)).toContain('removed')
    expect(methods).toEqual(new Set(['GET']))
    expect(JSON.stringify(place.api.objects())).toBe(before)
  })

  test('a plan takes documents, as they would be applied or deleted', async () => {
    const place = await related3()
    const document: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'three', namespace: 'shop', labels: { 'meshstep.dev/kind': 'relation' } },
      data: {
        application: 'db',
        relation: '{ id: 4, endpoint: use, interface: http, role: provides }',
        remote: '{ application: other, data: {} }',
      },
    }
    expect(lines(await place.plan({ objects: [document] }))).toEqual(['+ other → db GET :80 /a/*'])
    place.api.seed([document])
    await place.happen(event('resync', DB))
    const gone = await place.preview({ events: [], objects: [document], expectations: [] }, { isDeletion: true })
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    const going = { ...document, metadata: { ...document.metadata, deletionTimestamp } }
    expect(lines(await place.plan({ objects: [going] }))).toEqual(lines(gone))
    expect(lines(gone)).toEqual(['- other → db GET :80 /a/*'])
  })

  test('a plan takes an AuthorizationPolicy that somebody wrote', async () => {
    const place = await related3()
    const policy: KubernetesObject = {
      apiVersion: 'security.istio.io/v1',
      kind: 'AuthorizationPolicy',
      metadata: { name: 'closed', namespace: 'shop' },
      spec: {
        targetRefs: [{ group: '', kind: 'Service', name: 'db' }],
        action: 'DENY',
        rules: [{ to: [{ operation: { paths: ['/a/secret'] } }] }],
      },
    }
    expect(lines(await place.plan({ objects: [policy] }))).toEqual(['- web → db GET :80 /a/secret'])
  })

  test('a plan names an object that the API server refuses', async () => {
    const place = await related3({ authenticate: async () => permitting(() => true) })
    const refused = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'No', namespace: 'shop' } }
    const { incomplete } = await place.plan({ objects: [refused] })
    expect(incomplete).toEqual([
      expect.stringContaining('ConfigMap shop/No is not planned: metadata.name: expected the name'),
    ])
  })

  test('a plan refuses an object without a namespace', async () => {
    const place = await related3({ authenticate: async () => permitting(() => true) })
    const nowhere = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }
    await expect(place.plan({ objects: [nowhere] })).rejects.toThrow(/ConfigMap x: expected metadata\.namespace/)
  })

  test('a plan refuses an event as it would be refused', async () => {
    const place = await related3()
    const wrong = event('config-changed', { ...DB, config: { polices: [] } })
    await expect(place.plan({ events: [wrong] })).rejects.toThrow(/polices/)
  })

  test('a plan goes on where a kind is not installed', async () => {
    const place = createPlace(['db'])
    const without = createPlace([], {
      intercept: async (request) =>
        request.path.includes('istio.io')
          ? { status: 404, headers: {}, body: '404 page not found\n' }
          : place.api.handle(request),
    })
    const plan = await without.plan({ events: [event('config-changed', { ...DB, config: { labels: { tier: 'a' } } })] })
    expect(plan.objects.map(({ object }) => object)).toEqual(['Service shop/db', 'StatefulSet shop/db'])
  })
})

const permitting = (
  allows: (about: string) => boolean,
  mayGet: (object: string) => boolean = () => true,
): Awaited<ReturnType<Authenticate>> => ({
  author: { username: 'somebody', groups: [] },
  mayGet: async (reference) => mayGet(nameOf(reference)),
  authorize: async ({ namespace, application = '*', effect }) => {
    const about = [`${namespace}/${application}`, effect].filter((part) => part !== undefined).join(' ')
    if (!allows(about)) throw new Refused(403, `you may not update ${about}`)
  },
})

describe('a plan of documents', () => {
  const API = '/apis/security.istio.io/v1/namespaces/shop/authorizationpolicies/old'
  const denying = custom('old', {
    ...pods('db'),
    action: 'DENY',
    rules: [{ from: [{ source: { namespaces: ['x'] } }] }],
  })
  const { action: _, ...spec } = denying.spec

  /** As `kubectl apply` does, without server-side apply. */
  const applied = (place: Place, object: KubernetesObject, manager = 'kubectl-client-side-apply'): void => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(object) }
    place.api.seed([{ ...object, metadata: { ...object.metadata, annotations } }], { manager })
  }

  test('a plan of documents takes away what kubectl applied, and is not given any more', async () => {
    const place = createPlace(['db', 'web'])
    place.api.seed([...onMesh('api')])
    applied(place, custom('old', { ...denying.spec, ...pods('api') }))
    const plan = await place.plan({ objects: [custom('old', { ...spec, ...pods('api') })] })
    expect(plan.objects.map(({ object }) => object)).toEqual(['AuthorizationPolicy shop/old'])
    expect(plan.objects[0]?.diff).toContain('-  action: DENY')
    expect(plan.objects[0]?.diff).not.toContain('last-applied')
    expect(lines(plan)).toContain('- (outside the mesh) → api :9080')
  })

  test('whoever applied it before, and in objects of which parts are named, as ports', async () => {
    const place = createPlace([])
    const [workload, exposed] = onMesh('api')
    place.api.seed(workload ? [workload] : [])
    applied(place, exposed as KubernetesObject, 'argocd-controller')
    const ports = [{ port: 9090, targetPort: 9080 }]
    const changed = { ...exposed, spec: { ...exposed?.spec, ports } } as KubernetesObject
    const plan = await place.plan({ objects: [changed] })
    expect(plan.objects[0]?.after?.spec?.ports).toMatchObject(ports)
    expect(plan.objects[0]?.after?.spec?.ports).toHaveLength(1)
  })

  test('a plan of documents keeps what somebody else has written', async () => {
    const place = createPlace([])
    applied(place, denying)
    const body = JSON.stringify({ metadata: { labels: { team: 'blue' } } })
    const headers = { 'content-type': 'application/merge-patch+json' }
    place.api.handle({ method: 'PATCH', path: `${API}?fieldManager=somebody`, headers, body })
    const plan = await place.plan({ objects: [custom('old', spec)] })
    expect(plan.objects[0]?.after?.metadata.labels).toEqual({ team: 'blue' })
  })

  test('a plan of documents compares access where pods alone change', async () => {
    const place = createPlace([])
    place.api.seed([ISTIO, ...onMesh('db'), ...onMesh('web')])
    const alone = (labels: Record<string, string>): KubernetesObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'toolbox', namespace: 'shop', labels },
      spec: { serviceAccountName: 'toolbox', containers: [{ name: 'c', image: 'x:1' }] },
    })
    const principals = ['cluster.local/ns/shop/sa/toolbox']
    place.api.seed([
      alone({ 'istio.io/dataplane-mode': 'ambient' }),
      custom('allowed', { ...pods('db'), action: 'ALLOW', rules: [{ from: [{ source: { principals } }] }] }),
    ])
    const plan = await place.plan({ objects: [alone({ 'istio.io/dataplane-mode': 'none' })] })
    expect(lines(plan)).toContain('- shop/sa/toolbox → shop/db :9080')
  })

  test('a plan of documents does not delete a namespace, as it would not follow all that goes with it', async () => {
    const place = createPlace(['db'])
    const namespace: KubernetesObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }
    const plan = await place.preview({ events: [], objects: [namespace], expectations: [] }, { isDeletion: true })
    expect([plan.objects, plan.incomplete]).toEqual([
      [],
      [expect.stringContaining('Namespace shop is not planned: a plan does not follow the objects that are deleted')],
    ])
  })
})

describe('a plan of a Namespace, where senders are authenticated,', () => {
  const labelled: KubernetesObject = {
    ...{ apiVersion: 'v1', kind: 'Namespace' },
    metadata: { name: 'shop', labels: { 'istio.io/dataplane-mode': 'ambient' } },
  }
  const placeOf = (right: string) => {
    const place = createPlace([], { authenticate: async () => permitting((about) => about.startsWith(right)) })
    place.api.seed([
      { ...labelled, metadata: { name: 'shop' } },
      ...['db', 'web'].flatMap((name) => application(name, { labels: {} })),
      custom('closed', { ...pods('db'), action: 'ALLOW', rules: [] }),
    ])
    return place
  }

  test('a plan of a Namespace, where senders are authenticated, says what is lost', async () => {
    const plan = await placeOf('shop/').plan({ objects: [labelled] })
    expect(plan.objects.map(({ object }) => object)).toEqual(['Namespace shop'])
    expect(lines(plan)).toContain('- web → db :9080')
  })

  test('a plan of a Namespace, where senders are authenticated, is for who may send events about all of it', async () => {
    await expect(placeOf('shop/db').plan({ objects: [labelled] })).rejects.toThrow(/may not update shop\/\*/)
  })
})

describe('whoever asks for a plan', () => {
  test('whoever asks for a plan must be allowed to send its events', async () => {
    const place = await related3({ authenticate: async () => permitting((about) => !about.startsWith('shop/db')) })
    await expect(place.plan({ events: [event('config-changed', allowing('sue'))] })).rejects.toThrow(
      /may not update shop\/db/,
    )
  })

  test('whoever asks for a plan must be allowed the effects that they ask for', async () => {
    const place = await related3({ authenticate: async () => permitting((about) => about === 'shop/web') })
    const beacon = event('config-changed', { ...WEB, config: { mesh: {} } })
    await expect(place.plan({ events: [beacon] })).rejects.toThrow(/may not update shop\/web mesh/)
  })

  test('whoever asks for a plan sees nothing of applications that they may send no events about', async () => {
    const place = await related3({ authenticate: async () => permitting((about) => about.startsWith('shop/beacon')) })
    const config = { mesh: { trustDomain: 'example.org' } }
    const plan = await place.plan({ events: [event('config-changed', { application: 'beacon', config })] })
    expect(JSON.stringify(plan)).not.toMatch(/sa\/web|"web"|"db"/)
    expect(plan.access).toEqual([])
    expect(plan.messages).toEqual([expect.stringMatching(/^\d more objects would change/)])
  })

  test.each([true, false])(
    'whoever asks for a plan sees what is in an object of others only where they may get it: %s',
    async (may) => {
      const sender = permitting(
        () => true,
        (object) => may || object !== 'StatefulSet shop/db',
      )
      const place = createPlace(['db'], { authenticate: async () => sender })
      const labels = { 'meshstep.dev/application': 'db', 'app.kubernetes.io/managed-by': 'meshstep' }
      const [foreign] = place.api.objects().filter(({ kind }) => kind === 'StatefulSet')
      const labelled = event('config-changed', { ...DB, config: { labels: { tier: 'a' } } })
      const { objects, messages } = await place.plan({
        events: [labelled],
        // whoever asks cannot make it theirs by what they propose
        objects: [{ ...foreign, metadata: { name: 'db', namespace: 'shop', labels } } as KubernetesObject],
      })
      expect(objects).toContainEqual(expect.objectContaining({ object: 'StatefulSet shop/db', change: 'changed' }))
      expect(JSON.stringify(objects).includes('"serviceAccountName"')).toBe(may)
      expect(objects.find(({ object }) => object === 'Service shop/db')?.diff).toContain('tier: a')
      expect(messages).toEqual(may ? [] : ['StatefulSet shop/db is not shown: you may not get it'])
    },
  )
})

/** The template's hash in the names of a Deployment's pods. */
const hashOf = ({ api }: Place): string =>
  api.objects().flatMap(({ metadata }) => metadata.labels?.['pod-template-hash'] ?? [])[0] ?? 'none'

describe('a plan goes by the pods that run', () => {
  const denying = (rule: object) =>
    custom('old', { selector: { matchLabels: { role: 'old' } }, action: 'DENY', rules: [rule] })
  const HTTP = [{ name: 'c', image: 'x:1', ports: [{ name: 'http', containerPort: 8000 }] }]

  const patched = (place: Place, path: string, change: object): void => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    expect(place.api.handle({ method: 'PATCH', path, headers, body: JSON.stringify(change) }).status).toBe(200)
  }

  test('where a policy selects only some of them', async () => {
    const place = createPlace([])
    const unused = { to: [{ operation: { ports: ['1'] } }] }
    place.api.seed([...application('db'), ...application('web'), denying(unused)])
    patched(place, '/api/v1/namespaces/shop/pods/db-1', { metadata: { labels: { role: 'old' } } })
    const { access } = await place.plan({ objects: [denying({})] })
    expect(access.filter(({ via }) => via === 'service').map(({ before, after }) => [before, after])).toContainEqual([
      'allowed',
      'undecided',
    ])
  })

  test('where they listen at a port that their template has no more', async () => {
    const place = createPlace([])
    place.api.seed([...application('db', { podSpec: { containers: HTTP } }), ...application('web')])
    const template = { spec: { containers: [{ name: 'c', image: 'x:1' }] } }
    patched(place, '/apis/apps/v1/namespaces/shop/statefulsets/db', {
      spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: null }, template },
    })
    const denied = { ...pods('db'), action: 'DENY' as const, rules: [{}] }
    const { access } = await place.plan({ objects: [custom('closed', denied)] })
    expect(access.filter(({ via }) => via === 'pod').map(({ port }) => port)).toContain(8000)
  })
})

describe('expectations', () => {
  const expectation = { from: 'shop/web', to: 'shop/db', port: 80, method: 'GET', path: '/a/1', allowed: true } as const

  test('expectations are met by what a plan leads to', async () => {
    const place = await related3()
    const { expectations } = await place.plan({
      expectations: [expectation, { ...expectation, from: 'shop/other', allowed: false }],
    })
    expect(expectations.map(({ met }) => met)).toEqual([true, true])
  })

  test.each<[string, Event]>([
    ['the relation ends', event('relation-broken', { ...DB, relation: { id: 3 } })],
    ['the policy names another relation', event('config-changed', allowing('sue'))],
    [
      'the policy allows another path',
      event('config-changed', {
        ...DB,
        config: { policies: [{ type: 'app', relation: 'use', endpoints: [{ paths: ['/b'] }] }] },
      }),
    ],
    [
      'the policy allows another method',
      event('config-changed', {
        ...DB,
        config: { policies: [{ type: 'app', relation: 'use', endpoints: [{ methods: ['POST'] }] }] },
      }),
    ],
    [
      'the policy allows another port',
      event('config-changed', {
        ...DB,
        config: { policies: [{ type: 'app', relation: 'use', endpoints: [{ ports: [81] }] }] },
      }),
    ],
    ['the application has no policies of its own and is not guarded', event('config-changed', { ...DB, config: {} })],
  ])('expectations are not met any more where %s', async (what, sent) => {
    const place = await related3()
    const denied = { ...expectation, from: 'shop/other', allowed: false } as const
    const { expectations } = await place.plan({ events: [sent], expectations: [expectation, denied] })
    expect(expectations.map(({ met }) => met)).toEqual(what.includes('not guarded') ? [true, false] : [false, true])
  })

  test('expectations go by the pods of a Deployment, whatever its cluster calls its ReplicaSet', async () => {
    const place: Place = createPlace([], {
      intercept: async (request) => {
        const answer = await place.api.handle(request)
        return { ...answer, body: answer.body.replaceAll(hashOf(place), '7c9d6b5f4') }
      },
    })
    place.api.seed([...application('db', { kind: 'Deployment' }), ...application('web'), custom('closed', pods('db'))])
    for (const { kind, metadata } of place.api.objects())
      if (kind === 'Pod' && metadata.labels?.['app.kubernetes.io/name'] === 'db')
        place.api.handle({
          method: 'PATCH',
          path: `/api/v1/namespaces/shop/pods/${metadata.name}`,
          headers: { 'content-type': 'application/merge-patch+json' },
          body: JSON.stringify({ metadata: { labels: { 'istio.io/dataplane-mode': null } } }),
        })
    const { expectations } = await place.plan({ expectations: [{ ...expectation, port: 9080 }] })
    expect(expectations).toMatchObject([{ met: true, sentence: expect.stringContaining('nothing guards them') }])
  })

  test('expectations are not met where it is not known, unless what is missing is said', async () => {
    const place = await related3()
    await place.happen(event('config-changed', { ...DB, config: { policies: [] } }))
    const proposal = { events: [], objects: [], expectations: [{ to: 'shop/db', port: 80, allowed: false }] }
    const unknown = await place.preview(proposal, {})
    const known = await place.preview(proposal, { autoAllowWaypoint: true })
    expect([unknown, known].map(({ expectations }) => expectations[0]?.met)).toEqual([false, true])
  })

  test('expectations are not met by policies that Istio has not taken yet, but for those that the plan makes', async () => {
    const taken = { type: 'ZtunnelAccepted', status: 'True', reason: 'Accepted', observedGeneration: '1' }
    const denying = (name: string, extra: object) => {
      const made = custom(name, { ...pods(name), action: 'DENY', rules: [{}] })
      return { ...made, metadata: { ...made.metadata, generation: 1 }, ...extra }
    }
    const cluster = reading([
      ...['db', 'web'].flatMap((name) => onMesh(name)),
      denying('web', { status: { conditions: [taken] } }),
      denying('db', {}),
    ])
    const ask = (planned: ReadonlySet<string>) =>
      expected(features.memories, cluster, [{ ...expectation, port: 9080, allowed: false }], undefined, { planned })
    const [pending, made] = [await ask(new Set()), await ask(new Set(['AuthorizationPolicy shop/db']))]
    expect([pending, made].map(([one]) => one?.met)).toEqual([false, true])
    expect(pending[0]?.sentence).toContain('Istio has not taken AuthorizationPolicy shop/db yet')
  })

  test('expectations about an application that is not there are never met', async () => {
    const place = await related3()
    const { expectations } = await place.plan({ expectations: [{ ...expectation, to: 'shop/bd', allowed: false }] })
    expect(expectations).toMatchObject([
      { met: false, sentence: expect.stringContaining('there is no Service shop/bd') },
    ])
  })
})

describe('POST /plan', () => {
  const silent = () => undefined
  const post = async (
    place: Place,
    body: string,
    type: string,
    path = '/plan',
    headers: Record<string, string> = {},
  ) => {
    const handle = async () => Promise.reject(new Error('the event was taken'))
    const log = { info: silent, warn: silent, error: silent }
    const app = createApp({ handle, preview: place.preview, clock: place.clock, log })
    const response = await app.request(path, { method: 'POST', body, headers: { 'content-type': type, ...headers } })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Plan & { message: string },
    }
  }
  const broken = {
    specversion: '1.0',
    id: '1',
    source: '/me',
    type: 'dev.meshstep.relation-broken.v1',
    subject: 'shop/db',
    data: { relation: { id: 3 } },
  }
  const GONE = ['- web → db GET :80 /a/*']

  test.each([
    ['an event', JSON.stringify(broken), 'application/cloudevents+json'],
    ['several', JSON.stringify([broken]), 'application/cloudevents-batch+json'],
    ['documents', `---\n${JSON.stringify(broken)}\n---\nexpect: []\n`, 'application/yaml'],
  ])('POST /plan takes %s', async (_, body, type) => {
    const answer = await post(await related3(), body, type)
    expect([answer.status, answer.body.access?.map(({ line }) => line)]).toEqual([200, GONE])
  })

  test('POST /plan is asked for by the extension dryrun of an event, which is not taken', async () => {
    const body = JSON.stringify({ ...broken, dryrun: 'true' })
    const answer = await post(await related3(), body, 'application/cloudevents+json', '/')
    expect([answer.status, answer.body.access?.map(({ line }) => line)]).toEqual([200, GONE])
    expect(answer.headers.get('ce-type')).toBe('dev.meshstep.planned.v1')
  })

  test.each([
    [
      'a dryrun that is neither',
      JSON.stringify({ ...broken, dryrun: 'maybe' }),
      'application/cloudevents+json',
      '/',
      /dryrun: expected true or false, got maybe/,
    ],
    ['YAML that is none', '{', 'application/yaml', '/plan', /document 1: /],
    [
      'what is neither event nor object',
      'a: 1',
      'application/yaml',
      '/plan',
      /document 1: expected a CloudEvent \(specversion\), a Kubernetes object .* or an expect list$/,
    ],
    [
      'an expectation of another form',
      'expect: [{ to: db }]',
      'application/yaml',
      '/plan',
      /expected \{namespace\}\/\{application\}/,
    ],
    ['nothing', '', 'application/yaml', '/plan', /the body is empty/],
    ['documents without content', '---\n---\n', 'application/yaml', '/plan', /the body is empty/],
    ['a list of nothing', '{apiVersion: v1, kind: List, items: []}', 'application/yaml', '/plan', /the body is empty/],
    ...[
      ['brackets without end', '['.repeat(2_000_000), /^document 1: expected at most 64 levels at line 1, column/],
      [
        'lists of lists without end',
        `a: 1\n---\n${'- '.repeat(500_000)}`,
        /; document 2: expected at most 64 levels at line 3/,
      ],
      [
        'as many problems as characters',
        `[${','.repeat(2_000_000)}]`,
        /^document 1: Unexpected , in flow sequence at line 1, column 3/,
      ],
      ['brackets that close nothing', ']'.repeat(2_000_000), /^document 1: Unexpected flow-seq-end token .* column 1$/],
      [
        'a key twice',
        `apiVersion: v1\n---\n${distinct(60_000)}k7: 1\n`,
        /; document 2: Map keys must be unique at line 60003, column 1$/,
      ],
      [
        'an alias for each of many anchors',
        distinct(60_000, (i) => `- &a${i} x\n- *a${i}\n`),
        /^document 1: expected fewer aliases/,
      ],
    ].map(
      ([what, body, message]) =>
        [what, body, 'application/yaml', '/plan', message] as [string, string, string, string, RegExp],
    ),
    ['an alias bomb', `a: &a [1]\nb: [${'*a,'.repeat(200)}]`, 'application/yaml', '/plan', /document 1/],
    [
      'another flag',
      'expect: [{ from: shop/web, to: shop/db, port: 80, allowed: true }]',
      'application/yaml',
      '/plan?force=true',
      /query: expected delete or autoAllowWaypoint/,
    ],
    ['bytes', '\u0000', 'application/cloudevents-batch+json', '/plan', /JSON/],
  ])('POST /plan refuses %s', async (_, body, type, path, message) => {
    const answer = await post(createPlace([]), body, type, path)
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(message)])
  })

  test('POST /plan makes two plans at a time, and asks others to come again', async () => {
    const place = await related3()
    const plans = [1, 2, 3].map(() => post(place, JSON.stringify(broken), 'application/cloudevents+json'))
    expect((await Promise.all(plans)).map(({ status }) => status)).toEqual([200, 200, 429])
  })

  test('POST /plan reads lists of objects', async () => {
    const body = Buffer.from(
      '{ kind: List, apiVersion: v1, items: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: a } }] }',
    )
    expect((await readProposal({ headers: {}, body }, systemClock)).objects).toHaveLength(1)
  })
})
