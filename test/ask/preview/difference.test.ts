import fc from 'fast-check'
import { expect, test } from 'vitest'
import { evaluate } from '../../../src/ask/authorization/evaluate.ts'
import { buildInput } from '../../../src/ask/authorization/evaluation-input.ts'
import { observeForQuery } from '../../../src/ask/authorization/observe.ts'
import type { Query } from '../../../src/ask/authorization/query.ts'
import type { Side } from '../../../src/ask/authorization/side.ts'
import { compareAccess } from '../../../src/ask/preview/compare.ts'
import type { Verdict } from '../../../src/ask/preview/compare-requests.ts'
import type { Plan } from '../../../src/ask/preview/preview.ts'
import { failureOf } from '../../../src/cli/plan.ts'
import { features } from '../../../src/features.ts'
import { Refused } from '../../../src/platform/base/errors.ts'
import type { Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { foretold } from './foretold.ts'
import { reading } from './reading.ts'
import { change, NAMES, objectsOf, type Spec } from './worlds.ts'

const SEED = 20_260_201

const CHANGES = Number(process.env.PREVIEW_CHANGES ?? 300)

/** Each change is asked about some requests, so that together they are asked about all. */
const STRIDE = 23

const SUBJECTS = [
  ...NAMES.map(([namespace, application]): Side => ({ kind: 'application', namespace, application })),
  ...['entrance', 'shop'].map((application): Side => ({ kind: 'gateway', namespace: 'pa', application })),
  { kind: 'pod', namespace: 'pb', application: 'pay' } as const,
]

const ADDRESSES = ['203.0.113.1', '10.1.2.3', '10.2.3.4']

const CLIENTS: Pick<Query, 'from' | 'address'>[] = [
  ...ADDRESSES.map((address) => ({ address })),
  // pods that no workload has are clients by their accounts
  ...SUBJECTS.flatMap((from) => (from.kind === 'pod' ? [] : [{ from }])),
]

/** Every request that somebody may think of. */
const REQUESTS = CLIENTS.flatMap((client) =>
  SUBJECTS.flatMap((to) =>
    (['service', 'pod'] as const).flatMap((via) =>
      [80, 81, 8080].flatMap((port) =>
        ['GET', 'HEAD', 'POST', 'PUT'].flatMap((method) =>
          ['/a/b', '/a/bc', '/a/x/c', '/a/x.html', '/x.html', '/c'].flatMap((path) =>
            ['shop.example', 'db.example', 'else.test'].map(
              (host) => ({ ...client, to, via, port, method, path, host }) as Query,
            ),
          ),
        ),
      ),
    ),
  ),
)

/** The pods of a Job have the name of another workload: the same pods with a Deployment of their own can be asked about. */
const askedOf = (query: Query): Query =>
  query.to.kind === 'pod' ? { ...query, to: { namespace: 'pb', application: 'job' } } : query

const withJobAsDeployment = (objects: readonly KubernetesObject[]): KubernetesObject[] => {
  const isOfJob = ({ metadata: { labels } }: KubernetesObject) => labels?.job === 'pay'
  const [pod] = objects.filter(isOfJob)
  if (pod === undefined) return [...objects]
  const { metadata, spec } = pod
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'job-abc', uid: 'job-r', controller: true }
  const labels = { ...metadata.labels, 'pod-template-hash': 'abc' }
  return [
    ...objects.filter((one) => !isOfJob(one)),
    { ...pod, metadata: { ...metadata, labels, ownerReferences: [owner] } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'job', namespace: 'pb', uid: 'job' },
      spec: { selector: { matchLabels: { job: 'pay' } }, template: { metadata: { labels: metadata.labels }, spec } },
    },
  ]
}

/** Asks what a question answers, one at a time, with all that is read for it. */
const createOracle = (objects: readonly KubernetesObject[]) => {
  const kubernetes: Kubernetes = reading(withJobAsDeployment(objects))
  const known = new Map<string, ReturnType<typeof observeForQuery>>()
  return async (query: Query): Promise<Verdict> => {
    const { from, address, to } = askedOf(query)
    const key = JSON.stringify([from ?? address, to])
    const observed = known.get(key) ?? observeForQuery(features.memories, kubernetes, askedOf(query))
    known.set(key, observed)
    try {
      const { request, snapshot } = buildInput(askedOf(query), { ...(await observed), untaken: [] })
      const { allowed, decided } = evaluate(request, snapshot)
      return allowed ? 'allowed' : decided ? 'denied' : 'undecided'
    } catch (error) {
      if (error instanceof Refused) return 'denied'
      throw error
    }
  }
}

type Port = { readonly port: number; readonly targetPort?: number }

/** Ports of Services, and those where pods listen. Others answer as those of pods do that no policy names. */
const hasPort = (objects: readonly KubernetesObject[], { to, via, port }: Query): boolean => {
  const exposing = to.kind === 'gateway' ? 'Gateway' : 'Service'
  const ports = objects.flatMap(({ kind, metadata, spec }) =>
    kind === exposing && metadata.namespace === to.namespace && metadata.name === to.application
      ? ((spec?.ports ?? spec?.listeners) as Port[])
      : [],
  )
  const numbers = ports.map((one) => (via === 'service' ? one.port : (one.targetPort ?? one.port)))
  if (to.kind === 'pod') return via === 'pod' && port === 8080 && objects.some(({ metadata }) => metadata.labels?.job)
  const isPod = via === 'pod' && to.kind !== 'gateway'
  return via === 'service' || isPod ? numbers.includes(port) || (isPod && port === 8080) : false
}

/** Who is on neither side sends nothing, and is not in what is said of everybody of a namespace. */
const isThere = (objects: readonly KubernetesObject[], { from }: Query): boolean =>
  from === undefined ||
  objects.some(
    ({ kind, metadata }) =>
      (kind === 'Gateway') === (from.kind === 'gateway') &&
      metadata.namespace === from.namespace &&
      metadata.name === from.application,
  )

type Specs = readonly [Spec, Spec]

/** What a plan would say of a change. */
const planOf = async (before: readonly KubernetesObject[], after: readonly KubernetesObject[]): Promise<Plan> => {
  const options = { memories: features.memories, kubernetes: reading(before), hasTime: () => true }
  const compared = await compareAccess({ before, after }, { ...options, near: new Set() })
  return { ...compared, steps: [], outcomes: [], objects: [], expectations: [] }
}

/** Compares what is said of some requests with what each answers, and returns how answers change. */
const changesOf = async (specs: Specs, nth: number): Promise<{ plan: Plan; seen: ReadonlySet<string> }> => {
  const [before, after] = [objectsOf(specs[0]), objectsOf(specs[1])]
  const plan = await planOf(before, after)
  const [old, now] = [createOracle(before), createOracle(after)]
  const objects = [...before, ...after]
  const asked = REQUESTS.filter(
    (query, index) => index % STRIDE === nth && hasPort(objects, query) && isThere(objects, query),
  )
  const seen = new Set<string>()
  for (const query of asked) {
    const answers = [await old(query), await now(query)]
    const isChanged = answers[0] !== answers[1]
    expect([query, foretold(plan.access, query)]).toEqual([query, isChanged ? [answers] : []])
    seen.add(answers.join(' → '))
  }
  return { plan, seen }
}

test('what a plan says is lost and gained is what each question answers before and after', async () => {
  await fc.assert(
    fc.asyncProperty(change, fc.nat({ max: STRIDE - 1 }), async (specs, nth) => {
      const { plan, seen } = await changesOf(specs, nth)
      const code = failureOf(plan, 'lose')?.code ?? 0
      if (seen.has('allowed → denied') || seen.has('allowed → undecided')) expect(code).toBe(2)
      if (seen.has('undecided → denied')) expect(code).not.toBe(0)
    }),
    { numRuns: CHANGES, seed: SEED },
  )
})
