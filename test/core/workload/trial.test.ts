import { expect, test } from 'vitest'
import {
  createEmptyWorld,
  deployed,
  deployedObjects,
  imageOf,
  podSpec,
  view,
  writesOf,
} from '../../helpers/application.ts'
import { NAMESPACE, type World } from '../../helpers/world.ts'
import { answerTo } from '../answers.ts'

const GOOD = deployed()
const BAD = deployed({ podSpec: podSpec('web:2', { livenesProbe: {} }) })

const isTrial = (call: string): boolean => call.includes('dryRun=All')

/** The config in a document. */
const documented = ({ config }: ReturnType<typeof deployed>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'web', namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'config' } },
  data: { application: 'web', config: JSON.stringify(config) },
})

/** The API server answers whatever is tried with this. */
const answerTrials = (world: World, status: number, message: string, details = {}) => {
  world.intercept = ({ path }) =>
    path.includes('dryRun=All')
      ? {
          status,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ kind: 'Status', status: 'Failure', code: status, message, details }),
        }
      : undefined
}

test('a bad spec is refused before it is remembered, and nothing is written', async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', GOOD)
  const before = world.api.objects()
  const { status, text } = await answerTo(world, BAD)
  expect([status, text]).toEqual([
    400,
    expect.stringContaining('podSpec.containers.0.livenesProbe: field not declared'),
  ])
  expect(world.api.objects()).toEqual(before)
  expect((await view(world)).status.status).toBe('active')
})

test.each(['robot', undefined])(
  'a spec that would run as the account of the functions is refused, named by %s',
  async (name) => {
    const world = createEmptyWorld()
    const labels = { 'app.kubernetes.io/part-of': 'meshstep' }
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: name ?? 'web', namespace: NAMESPACE, labels },
    }
    world.api.seed([account], { manager: 'kubectl' })
    const spec = { ...podSpec('web:1'), ...(name && { serviceAccountName: name }) }
    const { status, text } = await answerTo(world, deployed({ podSpec: spec }))
    expect([status, text]).toEqual([400, expect.stringContaining("is the functions' own: no workload may run as it")])
    expect(world.memory()).toBeUndefined()
  },
)

test('of those that are taken together only the bad one is refused', async () => {
  const world = createEmptyWorld()
  const { config } = deployed({ podSpec: podSpec('web:3') })
  const answers = await Promise.all([
    answerTo(world, GOOD),
    answerTo(world, { config, settings: { a: '1' } }),
    answerTo(world, BAD),
    answerTo(world, { settings: { a: '2' } }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 200])
  expect([imageOf(world), (await view(world)).settings]).toEqual(['web:3', { a: '2' }])
})

test('what waits for a leader is refused at once', async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', GOOD)
  await world.send('leader-elected', { unit: 'web/7', epoch: 9 })
  const { status } = await answerTo(world, { ...BAD, unit: 'web/7', epoch: 9 })
  expect(status).toBe(400)
  expect(world.memory()?.state).not.toHaveProperty('pending')
})

test('a document whose spec is bad leaves what it said before, whoever looks at it', async () => {
  const world = createEmptyWorld()
  world.api.seed([documented(GOOD)], { manager: 'kubectl' })
  await world.send('config-changed', { ...GOOD, document: 'web' })
  const data = JSON.stringify({ data: documented(BAD).data })
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/web`
  world.api.handle({ method: 'PATCH', path, headers: { 'content-type': 'application/merge-patch+json' }, body: data })
  expect((await answerTo(world, { ...BAD, document: 'web' })).status).toBe(400)
  await world.send('resync', {})
  expect([imageOf(world), (await view(world)).status.status]).toEqual(['web:1', 'active'])
})

test('an equal spec is not tried again, and a trial is no write', async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', GOOD)
  const again = await writesOf(world, () => world.send('config-changed', GOOD))
  expect(again.filter(isTrial)).toEqual([])
  const refused = await writesOf(world, () => answerTo(world, BAD))
  expect(refused.filter((call) => !isTrial(call))).toEqual([])
  expect(refused).toHaveLength(3)
})

test('who may not try is told, and the spec is taken', async () => {
  const world = createEmptyWorld()
  answerTrials(world, 403, 'deployments.apps "web" is forbidden: User "x" cannot patch resource "deployments"')
  const { messages } = await world.send('config-changed', GOOD)
  expect(messages.join()).toMatch(/shop\/web could not be tried before it was remembered/)
  expect(deployedObjects(world)).toContain('Deployment web')
})

test('a webhook that fails says nothing about a spec: it is taken, and that is told', async () => {
  const world = createEmptyWorld()
  const message = 'Internal error occurred: failed calling webhook "guard.example.com": connection refused'
  answerTrials(world, 500, message)
  const { messages } = await world.send('config-changed', GOOD)
  expect(messages.join()).toMatch(/shop\/web could not be tried before it was remembered: .*failed calling webhook/)
  expect(deployedObjects(world)).toContain('Deployment web')
})

test('what an admission policy denies is refused in its own words', async () => {
  const world = createEmptyWorld()
  answerTrials(
    world,
    403,
    'deployments.apps "web" is forbidden: ValidatingAdmissionPolicy "labels" denied request: no owner',
  )
  const { status, text } = await answerTo(world, GOOD)
  expect([status, text]).toEqual([400, expect.stringContaining('denied request: no owner')])
})

test('a cause without a field is told of the kind alone', async () => {
  const world = createEmptyWorld()
  const message = 'deployments.apps "web" is forbidden: ValidatingAdmissionPolicy "labels" denied request: no owner'
  answerTrials(world, 422, message, { causes: [{ message: 'no owner' }] })
  const { text } = await answerTo(world, GOOD)
  expect(JSON.parse(text).message).toMatch(/^data\.config\.workload: \w+: no owner: refused/)
})

test('an API server that is away is waited for', async () => {
  const world = createEmptyWorld()
  answerTrials(world, 503, 'etcd is away')
  const { status } = await answerTo(world, GOOD)
  expect([status, world.memory()]).toEqual([503, undefined])
})

test('a quota that is met at the trial is no fault of the spec: it is remembered, reported, and made once there is room', async () => {
  const world = createEmptyWorld()
  const message =
    'deployments.apps "web" is forbidden: exceeded quota: few, requested: count/deployments.apps=1, used: 1, limited: 1'
  world.intercept = ({ method, path }) =>
    method === 'PATCH' && path.includes('/deployments/')
      ? {
          status: 403,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message }),
        }
      : undefined
  const outcome = await world.send('config-changed', GOOD)
  expect(outcome.messages.join()).toMatch(/could not be tried .*exceeded quota.*Raise the quota or the limit/)
  expect((await view(world)).status).toMatchObject({
    status: 'error',
    message: expect.stringContaining('exceeded quota'),
  })
  world.intercept = undefined
  await world.send('resync', {})
  expect([imageOf(world), (await view(world)).status.status]).toEqual(['web:1', 'active'])
})
