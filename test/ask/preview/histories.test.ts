import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Plan } from '../../../src/ask/preview/preview.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import type { Explanation } from '../../../src/serve/http/explain.ts'
import { related, requires } from '../../helpers/beacon-world.ts'
import { event } from '../../helpers/world.ts'
import { createPlace, type Place, written } from './planned.ts'

const SEED = 20_260_101

const HISTORIES = Number(process.env.PREVIEW_HISTORIES ?? 400)

/** Each batch has a seed of its own. */
const BATCH = 100

const batches = Array.from({ length: Math.ceil(HISTORIES / BATCH) }, (_, index) => index)

const APPLICATIONS = ['db', 'web', 'api'] as const

type Name = (typeof APPLICATIONS)[number]

const name = fc.constantFrom<Name>(...APPLICATIONS)
const endpoint = fc.constantFrom(
  { ports: [80] },
  { ports: [80], methods: ['GET'], paths: ['/a/*'] },
  { methods: ['POST', 'PUT'] },
  { paths: ['/b', '/a/*'] },
)
const policy = fc.oneof(
  fc.record({
    type: fc.constant('app'),
    relation: fc.constantFrom('use', 'nobody'),
    endpoints: fc.array(endpoint, { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('unit'), relation: fc.constant('use'), ports: fc.constant([80]) }),
)

/** What a platform tells next. */
const told: fc.Arbitrary<Event> = fc
  .oneof(
    {
      weight: 3,
      arbitrary: fc
        .record({ application: name, policies: fc.oneof(fc.array(policy, { maxLength: 2 }), fc.constant('related')) })
        .map(({ application, policies }) => ['config-changed', { application, config: { policies } }] as const),
    },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom({}, { hardened: true }, { modelOnMesh: true }, { waypoint: false }, { policies: 'related' })
        .map((mesh) => ['config-changed', { application: 'beacon', config: { mesh } }] as const),
    },
    {
      weight: 3,
      arbitrary: name.map(
        (application) =>
          ['relation-changed', requires(1 + APPLICATIONS.indexOf(application), { application })] as const,
      ),
    },
    {
      weight: 3,
      arbitrary: fc
        .record({ target: name, source: name })
        .filter(({ target, source }) => target !== source)
        .map(({ target, source }) => {
          const id = 10 + 3 * APPLICATIONS.indexOf(target) + APPLICATIONS.indexOf(source)
          return ['relation-changed', related(id, 'use', { application: source }, { application: target })] as const
        }),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({ application: name, id: fc.integer({ min: 1, max: 19 }) })
        .map(({ application, id }) => ['relation-broken', { application, relation: { id } }] as const),
    },
    { weight: 1, arbitrary: name.map((application) => ['application-removed', { application }] as const) },
    { weight: 1, arbitrary: name.map((application) => ['resync', { application }] as const) },
  )
  .map(([type, data]) => event(type, data))

const EVERYBODY = [undefined, ...APPLICATIONS]
const METHODS = ['GET', 'POST', 'DELETE']
const PATHS = ['/a/1', '/b', '/c']

type Verdict = 'allowed' | 'denied' | 'undecided'

const explain = async (place: Place, query: Record<string, string>): Promise<Verdict> => {
  const response = await place.app.request(`/explain?${new URLSearchParams(query)}`)
  const { allowed, decided } = (await response.json()) as Explanation
  return allowed ? 'allowed' : decided ? 'denied' : 'undecided'
}

/** Every request that somebody may think of. */
const REQUESTS: Record<string, string>[] = EVERYBODY.flatMap((from) =>
  APPLICATIONS.filter((to) => to !== from).flatMap((to) =>
    ['service', 'pod'].flatMap((via) =>
      METHODS.flatMap((method) =>
        PATHS.map((path) => ({
          ...(from === undefined ? { address: '203.0.113.1' } : { from: `shop/${from}` }),
          ...{ to: `shop/${to}`, port: '80', via, method, path },
        })),
      ),
    ),
  ),
)

/** Each history asks for some of them, so that together they ask for all. */
const STRIDE = 7

/** The answer to each that is asked, as text of what is asked. */
const answers = async (place: Place, nth: number): Promise<Map<string, Verdict>> => {
  const all = new Map<string, Verdict>()
  for (const asked of REQUESTS.filter((_, index) => index % STRIDE === nth))
    all.set(JSON.stringify(asked), await explain(place, asked))
  return all
}

/** What a plan says became of the answer to a request. */
const foretold = ({ access }: Plan, asked: Record<string, string>, before: Verdict): Verdict => {
  const { method = '', path = '' } = asked
  const hit = access.find(
    (change) =>
      change.from === asked.from &&
      change.to === asked.to &&
      change.via === asked.via &&
      // what is asked is HTTP
      change.carries === undefined &&
      String(change.port) === asked.port &&
      isMeant(change.method, change.notMethods, method) &&
      isMeant(change.path, change.notPaths, path),
  )
  return hit?.after ?? before
}

const isMeant = (label: string | undefined, not: readonly string[] = [], value: string): boolean =>
  (label === undefined || matches(label, value)) && !not.some((one) => matches(one, value))

const matches = (pattern: string, value: string): boolean =>
  pattern.endsWith('*') ? value.startsWith(pattern.slice(0, -1)) : pattern === value

test.each(batches)(
  'what a plan says is what then happens, after whatever happened before (batch %i)',
  async (batch) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(told, { maxLength: 6 }),
        told,
        fc.nat({ max: STRIDE - 1 }),
        async (history, last, nth) => {
          const place = createPlace(APPLICATIONS)
          await place.happen(event('config-changed', { application: 'beacon', config: { mesh: {} } }))
          for (const sent of history) await place.happen(sent)

          const stored = JSON.stringify(place.api.objects())
          const [before, access] = [written(place.api.objects()), await answers(place, nth)]
          const plan = await place.plan({ events: [last] })
          expect(JSON.stringify(place.api.objects())).toBe(stored)

          await place.happen(last)
          const planned = { ...before }
          for (const { object, after } of plan.objects) {
            if (after) Object.assign(planned, written([after]))
            else delete planned[object]
          }
          expect(planned).toEqual(written(place.api.objects()))

          for (const [asked, now] of await answers(place, nth))
            expect([asked, foretold(plan, JSON.parse(asked), access.get(asked) ?? 'denied')]).toEqual([asked, now])
        },
      ),
      { numRuns: Math.min(BATCH, HISTORIES), seed: SEED + batch },
    )
  },
)
