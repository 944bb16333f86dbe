import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseSide } from '../../../src/ask/authorization/side.ts'
import type { Plan } from '../../../src/ask/preview/preview.ts'
import type { Proposed } from '../../../src/ask/propose/proposal.ts'
import type { Flow, Way } from '../../../src/ask/traffic/flows.ts'
import { istioConfig } from '../../../src/embedded/demo/example.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { related, requires } from '../../helpers/beacon-world.ts'
import { event } from '../../helpers/world.ts'
import { foretold } from '../preview/foretold.ts'
import { createPlace, type Place } from '../preview/planned.ts'
import { type Asked, applyDocuments, classified, enrol, explain, proposeIn, type Verdict } from './place.ts'

const NAMES = ['db', 'web', 'api'] as const
type Name = (typeof NAMES)[number]

type Application = {
  readonly name: Name
  readonly service: 'one port' | 'two ports' | 'headless' | 'none' | 'and another'
  readonly account: string
  readonly isLabelled: boolean
  readonly isJoined: boolean
  readonly config: Readonly<Record<string, unknown>> | undefined
}

type Seen = Pick<Flow, 'from' | 'to' | 'protocol' | 'requests' | 'refused' | 'ways'>

type Spec = {
  /** The namespace is on the mesh, so that all traffic is counted. */
  readonly isEnrolled: boolean
  readonly applications: readonly Application[]
  readonly beacon: { readonly waypoint?: boolean; readonly policies?: string } | undefined
  /** A client in another namespace. */
  readonly mon: { readonly isOnMesh: boolean; readonly isKnown: boolean }
  readonly relations: readonly { readonly from: Name; readonly to: Name }[]
  readonly flows: readonly Seen[]
}

const some = <T>(...values: T[]) => fc.constantFrom(...values)

const POLICY = { type: 'app', relation: 'use', endpoints: [] }

const application = (name: Name): fc.Arbitrary<Application> =>
  fc.record({
    name: fc.constant(name),
    service: some<Application['service']>('one port', 'one port', 'two ports', 'headless', 'none', 'and another'),
    account: some(name, name, name, name, 'default', `${name}-runner`),
    isLabelled: some(true, true, true, true, true, false),
    isJoined: fc.boolean(),
    config: some<Application['config']>(undefined, undefined, {}, { policies: [POLICY] }, { policies: 'related' }),
  })

const CLIENTS = [...NAMES.map((name) => `shop/${name}`), 'other/mon', 'shop/ghost', 'unknown', 'gone/x']

const flow: fc.Arbitrary<Seen> = fc
  .record({
    from: fc.constantFrom(...CLIENTS),
    to: fc.constantFrom(...NAMES.map((name) => `shop/${name}`)),
    protocol: some<'http' | 'tcp'>('http', 'tcp'),
    requests: fc.integer({ min: 1, max: 5_000 }),
    refused: some(0, 0, 0, 1, Number.MAX_SAFE_INTEGER),
    ways: some<readonly Way[] | undefined>(undefined, ['service'], ['service'], ['service', 'pod'], ['pod']),
  })
  .map(({ ways, ...one }) => ({
    ...one,
    refused: Math.min(one.refused, one.requests),
    ...(ways && { ways }),
  }))

const spec: fc.Arbitrary<Spec> = fc.record({
  isEnrolled: some(true, true, true, true, true, false),
  applications: fc.tuple(application('db'), application('web'), application('api')),
  beacon: some<Spec['beacon']>(undefined, undefined, {}, {}, { waypoint: false }, { policies: 'related' }),
  mon: fc.record({ isOnMesh: fc.boolean(), isKnown: fc.boolean() }),
  relations: fc.uniqueArray(
    fc.record({ from: some(...NAMES), to: some(...NAMES) }).filter(({ from, to }) => from !== to),
    { maxLength: 3, selector: ({ from, to }) => `${from} ${to}` },
  ),
  flows: fc.uniqueArray(flow, { maxLength: 6, selector: ({ from, to }) => `${from} ${to}` }),
})

const labelsOf = ({ name, isLabelled }: Pick<Application, 'name' | 'isLabelled'>) =>
  isLabelled ? { 'app.kubernetes.io/name': name } : { app: name }

const workload = (namespace: string, name: string, account: string, labels: object): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name, namespace },
  spec: {
    ...{ serviceName: name, replicas: 1, selector: { matchLabels: labels } },
    template: {
      metadata: { labels },
      spec: { serviceAccountName: account, containers: [{ name: 'c', image: 'x:1' }] },
    },
  },
})

const serviceOf = (application: Application, name: string, spec: object): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'shop' },
  spec: { selector: labelsOf(application), ports: [{ port: 80, targetPort: 8080 }], ...spec },
})

const servicesOf = (application: Application): KubernetesObject[] => {
  const { name, service } = application
  if (service === 'none') return []
  const ports = [
    { port: 80, targetPort: 8080, name: 'http' },
    { port: 443, name: 'other' },
  ]
  const own = serviceOf(application, name, {
    ...(service === 'two ports' && { ports }),
    ...(service === 'headless' && { clusterIP: 'None' }),
  })
  return service === 'and another' ? [own, serviceOf(application, `${name}-more`, {})] : [own]
}

const ofBeacon = { application: 'beacon' }

const make = async ({ isEnrolled, applications, beacon, mon, relations }: Spec): Promise<Place> => {
  const place = createPlace([])
  place.api.seed([istioConfig])
  place.api.seed(
    [
      ...['shop', 'other'].map(
        (name): KubernetesObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
      ),
      ...applications.flatMap((one) => [workload('shop', one.name, one.account, labelsOf(one)), ...servicesOf(one)]),
      workload('other', 'mon', 'mon', {
        'app.kubernetes.io/name': 'mon',
        ...(mon.isOnMesh && { 'istio.io/dataplane-mode': 'ambient' }),
      }),
    ],
    { manager: 'juju' },
  )
  if (isEnrolled) enrol(place)
  if (mon.isKnown) await place.happen(event('config-changed', { namespace: 'other', application: 'mon', config: {} }))
  if (beacon) await place.happen(event('config-changed', { ...ofBeacon, config: { mesh: beacon } }))
  for (const { name, config } of applications)
    if (config) await place.happen(event('config-changed', { application: name, config }))
  for (const [index, { name, isJoined }] of applications.entries())
    if (beacon && isJoined) await place.happen(event('relation-changed', requires(index + 1, { application: name })))
  for (const [index, { from, to }] of relations.entries())
    await place.happen(
      event('relation-changed', related(10 + index, 'use', { application: from }, { application: to })),
    )
  return place
}

/** Clients that may be taken for what they say: they run, and were not refused each time. */
const isHonest = ({ from, refused, requests }: Seen, { mon }: Pick<Spec, 'mon'>): boolean =>
  refused < requests &&
  (from === 'other/mon' ? mon.isOnMesh && mon.isKnown : NAMES.some((name) => from === `shop/${name}`))

/** Both sides know a relation by the same endpoint. Where policies follow from relations, only what provides lets the other in. */
const isDeclared = ({ applications, beacon, relations }: Spec, from: string, to: string): boolean => {
  const { config, isJoined = false } = applications.find(({ name }) => `shop/${name}` === to) ?? {}
  const isRelated = config?.policies === 'related' || (!config?.policies && isJoined && beacon?.policies === 'related')
  return relations.some(
    (one) =>
      (`shop/${one.from}` === from && `shop/${one.to}` === to && (isRelated || config?.policies !== undefined)) ||
      (`shop/${one.to}` === from && `shop/${one.from}` === to && Array.isArray(config?.policies)),
  )
}

/** All that a client may ask of an application: each port of its Services, and ports of its pods. */
const questionsTo = (one: Application): Omit<Asked, 'from'>[] => [
  ...servicesOf(one)
    .filter(({ spec }) => spec?.clusterIP !== 'None')
    .flatMap(({ metadata, spec }) =>
      ((spec?.ports ?? []) as { port: number }[]).map(({ port }) => ({
        to: `shop/${metadata.name}`,
        port,
        via: 'service' as const,
      })),
    ),
  ...[8080, 443, 9999].map((port) => ({ to: `shop/${one.name}`, port, via: 'pod' as const })),
]

/** A waypoint tells requests to a Service from others; without one who may reach a Service may reach the pods. */
const isGuardedByWaypoint = ({ service }: Application, { beacon }: Spec): boolean =>
  !['none', 'headless'].includes(service) && beacon?.waypoint !== false

const EVERYBODY = ['unknown', 'other/mon', ...NAMES.map((name) => `shop/${name}`)]

const everythingOf = ({ applications }: Spec): Asked[] =>
  applications.flatMap((one) =>
    EVERYBODY.flatMap((from) => questionsTo(one).map((question) => ({ from, ...question }))),
  )

/** What must come of a request to an application; undefined where nothing is promised. */
const expectedOf = (
  asked: Asked,
  one: Application,
  { given, was, isLeft }: { given: Spec; was: Verdict | undefined; isLeft: boolean },
): Verdict | undefined => {
  const { from, via } = asked
  const to = `shop/${one.name}`
  const seen = given.flows.find((flow) => flow.from === from && flow.to === to && isHonest(flow, given))
  const isUsed = seen && (seen.ways ?? ['service']).includes(via)
  // policies that were there name the Service of the application's name: another one leads to the pods
  const isDeclaring = one.config?.policies !== undefined || given.beacon?.policies !== undefined
  if (seen && isDeclaring && asked.to !== to) return undefined
  if (isUsed) return was === 'allowed' ? 'allowed' : undefined
  if (seen && !isGuardedByWaypoint(one, given)) return undefined
  return isLeft || isDeclared(given, from, to) ? undefined : 'denied'
}

const answers = async (place: Place, asked: readonly Asked[]): Promise<Map<string, Verdict>> => {
  const all = new Map<string, Verdict>()
  for (const one of asked) all.set(JSON.stringify(one), await explain(place, one))
  return all
}

/** What a plan says that a request loses. */
const lossesIn = (access: Plan['access'], { from, to, ...asked }: Asked): string[][] =>
  foretold(access, { from: parseSide(from), ...asked, to: parseSide(to), autoAllowWaypoint: false }).filter(
    ([, after]) => after !== 'allowed',
  )

const portsOf = ({ applications }: Spec, to: string): number[] =>
  applications
    .filter(({ name }) => `shop/${name}` === to)
    .flatMap((one) => questionsTo(one).filter((question) => question.via === 'service' && question.to === to))
    .map(({ port }) => port)

/** The requests about which something is promised, each with what must come of it. */
const promisesIn = (given: Spec, before: ReadonlyMap<string, Verdict>, { listed }: Proposed) =>
  given.applications.flatMap((one) => {
    const isLeft = listed.some(({ kind, to }) => kind === 'left' && to === `shop/${one.name}`)
    return everythingOf({ ...given, applications: [one] }).flatMap((asked) => {
      const expected = expectedOf(asked, one, { given, was: before.get(JSON.stringify(asked)), isLeft })
      return expected === undefined ? [] : [{ asked, expected }]
    })
  })

test('what is proposed allows all that was seen and looks honest, and nothing else', async () => {
  const counted = new Set<Verdict>()
  await fc.assert(
    fc.asyncProperty(spec, async (given) => {
      const place = await make(given)
      const before = await answers(place, everythingOf(given))
      const proposed = await proposeIn(place, await classified(place, given.flows, (to) => portsOf(given, to)))
      const objects = proposed.documents.map(({ document }) => document)
      const { access } = await place.preview({ events: [], objects, expectations: [] }, { autoAllowWaypoint: false })
      await applyDocuments(place, proposed)
      for (const { asked, expected } of promisesIn(given, before, proposed)) {
        counted.add(expected)
        expect([asked, await explain(place, asked)]).toEqual([asked, expected])
        if (expected === 'allowed') expect([asked, lossesIn(access, asked)]).toEqual([asked, []])
      }
    }),
    { numRuns: 40 },
  )
  expect([...counted].toSorted()).toEqual(['allowed', 'denied'])
})
