import { describe, expect, test } from 'vitest'
import { canonicalHash } from '../../../src/platform/base/canonical-hash.ts'
import { redacted } from '../../../src/serve/http/redact.ts'
import {
  createEmptyWorld,
  deployed,
  deployedObjects,
  forget,
  patch,
  podSpec,
  pods,
  remove,
  templateOf,
  unitsOf,
  view,
  writesOf,
} from '../../helpers/application.ts'
import { event, isWrite, NAMESPACE, type World } from '../../helpers/world.ts'
import { answerTo } from '../answers.ts'

const STORE = 'meshstep-web-secrets'
const HUSH = 'hush-hush-1'

const withEnv = (value: string, more: Record<string, unknown> = {}) =>
  deployed({ podSpec: podSpec('web:1', { env: [{ name: 'DB_PASSWORD', value }] }), ...more })

const withSecret = (text: string) => deployed({ secrets: { 'web-tls': { 'tls.key': text } } })

/** What a Secret holds, as text. */
const valuesIn = (world: World, name = STORE): string[] =>
  Object.values(world.object('Secret', name)?.data ?? {}).map((value) => Buffer.from(value, 'base64').toString())

type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }

const envOf = (world: World): Variable[] =>
  (templateOf(world)?.spec.containers[0] as { env?: Variable[] } | undefined)?.env ?? []

/** The value that a container would get. */
const resolved = (world: World): (string | undefined)[] =>
  envOf(world).map(({ value, valueFrom }) => {
    const { name = '', key = '' } = valueFrom?.secretKeyRef ?? {}
    const data = world.object('Secret', name)?.data?.[key]
    return data === undefined ? (value ?? (valueFrom ? undefined : '')) : Buffer.from(data, 'base64').toString()
  })

/** All that is stored, but for Secrets. */
const inClear = (world: World): string => JSON.stringify(world.api.objects().filter(({ kind }) => kind !== 'Secret'))

const running = async (data: Record<string, unknown>) => {
  const world = createEmptyWorld()
  await world.send('config-changed', data)
  return world
}

const secretsIn = (world: World) => world.api.objects().filter(({ kind }) => kind === 'Secret')

describe('a variable that looks secret', () => {
  test('a variable that looks secret is kept in a Secret alone, from which the pods get it', async () => {
    const world = await running(withEnv(HUSH))
    expect(resolved(world)).toEqual([HUSH])
    expect(inClear(world)).not.toContain(HUSH)
    expect((await view(world)).status.status).toBe('active')
  })

  test.each([
    ['SMTP_PASS', HUSH],
    ['MYSQL_PWD', HUSH],
    ['DATABASE', `jdbc:postgresql://db/x?user=web&password=${HUSH}`],
    ['DSN', `web:${HUSH}@tcp(db:3306)/x`],
  ])('%s is kept in a Secret alone where its value is %s', async (name, value) => {
    const world = await running(deployed({ podSpec: podSpec('web:1', { env: [{ name, value }] }) }))
    expect(resolved(world)).toEqual([value])
    expect(inClear(world) + JSON.stringify(await view(world))).not.toContain(HUSH)
    expect(JSON.stringify(redacted({ env: [{ name, value }], text: `${name}: ${value}` }))).not.toContain(HUSH)
  })

  test('a variable that looks secret told again writes nothing to the Secret, and restarts no pod', async () => {
    const world = await running(withEnv(HUSH))
    const [before, uids] = [templateOf(world), pods(world).map(({ metadata }) => metadata.uid)]
    const writes = await writesOf(world, () => world.send('config-changed', withEnv(HUSH)))
    expect(writes.filter((call) => !call.includes('/configmaps/'))).toEqual([])
    expect([templateOf(world), pods(world).map(({ metadata }) => metadata.uid)]).toEqual([before, uids])
  })

  test('a variable that looks secret and changes restarts the pods, and its old value goes once no pod has it', async () => {
    const world = await running(withEnv(HUSH))
    const [before] = pods(world)
    await world.send('config-changed', withEnv('other'))
    expect(resolved(world)).toEqual(['other'])
    expect(pods(world)[0]?.metadata.uid).not.toBe(before?.metadata.uid)
    await world.send('resync', {})
    expect(valuesIn(world)).toEqual(['other'])
    expect(await writesOf(world, () => world.send('resync', {}))).toEqual([])
  })

  test('a variable that looks secret keeps its old value while pods of before run', async () => {
    const world = await running(withEnv(HUSH, { podMetadata: { annotations: {} } }))
    await world.send(
      'config-changed',
      withEnv('other', { podMetadata: { annotations: { 'embedded.meshstep.dev/pod': 'not-ready' } } }),
    )
    await world.send('resync', {})
    expect(valuesIn(world)).toEqual([HUSH, 'other'])
  })

  test('a variable that looks secret and is left out goes, and so does the Secret', async () => {
    const world = await running(withEnv(HUSH))
    await world.send('config-changed', deployed())
    await world.send('resync', {})
    expect(secretsIn(world)).toEqual([])
  })

  test('a variable that looks secret goes with the application', async () => {
    const world = await running(withEnv(HUSH))
    await world.send('application-removed', {})
    expect([secretsIn(world), deployedObjects(world)]).toEqual([[], []])
  })

  test('a variable that looks secret outlives the memory: told again it is the same, and restarts no pod', async () => {
    const world = await running(withEnv(HUSH))
    const before = templateOf(world)
    await forget(world)
    await world.send('resync', {})
    expect(valuesIn(world)).toEqual([HUSH])
    await world.send('config-changed', withEnv(HUSH))
    expect(templateOf(world)).toEqual(before)
  })

  test('a variable that looks secret goes with an application that lost its memory', async () => {
    const world = await running(withEnv(HUSH))
    await forget(world)
    await world.send('application-removed', {})
    expect(secretsIn(world)).toEqual([])
  })

  test('a variable that looks secret and was deleted is missed, what runs stays, and the config brings it back', async () => {
    const world = await running(withEnv(HUSH))
    await remove(world, 'Secret', STORE)
    await world.send('resync', {})
    expect((await view(world)).status).toMatchObject({
      status: 'error',
      message: expect.stringMatching(
        /Secret shop\/meshstep-web-secrets: it no longer has env\.web\.DB_PASSWORD\..*Send the config again/,
      ),
    })
    await world.send('config-changed', withEnv(HUSH))
    expect([resolved(world), (await view(world)).status.status]).toEqual([[HUSH], 'active'])
  })

  test('of a unit waits for the leader in the Secret', async () => {
    const world = await running(deployed({ replicas: 2 }))
    await world.send('config-changed', { ...withEnv(HUSH, { replicas: 2 }), unit: 'web/0' })
    expect(world.memory()?.state.pending).toBeDefined()
    expect(inClear(world)).not.toContain(HUSH)
    await world.send('resync', {})
    expect(valuesIn(world)).toEqual([HUSH])
    await world.send('leader-elected', { unit: 'web/0' })
    expect(resolved(world)).toEqual([HUSH])
  })

  test('of a config that is refused is not kept', async () => {
    const world = createEmptyWorld()
    const { status } = await answerTo(
      world,
      deployed({ podSpec: podSpec('web:1', { livenesProbe: {}, env: [{ name: 'TOKEN', value: HUSH }] }) }),
    )
    expect([status, world.api.objects().filter(({ kind }) => kind !== 'Namespace')]).toEqual([400, []])
  })

  test.each([
    ['composed of other variables', [{ name: 'TOKEN', value: 'a$(X)' }], ['a$(X)']],
    ['with a dollar that is escaped', [{ name: 'TOKEN', value: 'a$$(X)' }], ['a$(X)']],
    ['that is empty', [{ name: 'TOKEN', value: '' }], ['']],
    ['that is said to be none', [{ name: 'TOKEN', value: 'open' }], ['open']],
  ])('%s: the pods get what Kubernetes would have given them', async (_, env, expected) => {
    const world = await running(
      deployed({ podSpec: podSpec('web:1', { env }), ...(expected[0] === 'open' && { secretEnv: { TOKEN: false } }) }),
    )
    expect(resolved(world)).toEqual(expected)
  })

  test('a variable that looks secret is kept where a document tells it, and is quiet when that is read again', async () => {
    const world = createEmptyWorld()
    const { config } = withEnv(HUSH)
    const document = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'web', namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'config' } },
      data: { application: 'web', config: JSON.stringify(config) },
    }
    world.api.seed([document], { manager: 'kubectl' })
    await world.send('config-changed', { config, document: 'web' })
    expect(resolved(world)).toEqual([HUSH])
    expect(JSON.stringify(world.memory())).not.toContain(HUSH)
    expect(await writesOf(world, () => world.send('resync', { documents: ['web'] }))).toEqual([])
  })
})

describe('Secrets beside the workload', () => {
  test('Secrets beside the workload are made of what the config tells, which the memory does not have', async () => {
    const world = await running(withSecret(HUSH))
    expect(valuesIn(world, 'web-tls')).toEqual([HUSH])
    expect(inClear(world)).not.toContain(HUSH)
    expect(await writesOf(world, () => world.send('resync', {}))).toEqual([])
  })

  test('Secrets beside the workload that change restart the pods, and are repaired when somebody changes them', async () => {
    const world = await running(withSecret(HUSH))
    const [before] = pods(world)
    await world.send('config-changed', withSecret('other'))
    expect(pods(world)[0]?.metadata.uid).not.toBe(before?.metadata.uid)
    await patch(world, 'Secret', { data: { 'tls.key': 'eA==' } }, 'web-tls')
    await world.send('resync', {})
    expect([valuesIn(world, 'web-tls'), valuesIn(world)]).toEqual([['other'], ['other']])
  })

  test('Secrets beside the workload that are left out go, and so does what was kept of them', async () => {
    const world = await running(withSecret(HUSH))
    await world.send('config-changed', deployed())
    await world.send('resync', {})
    expect(secretsIn(world)).toEqual([])
  })

  test('Secrets beside the workload go with the application', async () => {
    const world = await running(withSecret(HUSH))
    await world.send('application-removed', {})
    expect(secretsIn(world)).toEqual([])
  })

  test('of somebody else are left alone, and the pods wait', async () => {
    const world = createEmptyWorld()
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'web-tls', namespace: NAMESPACE },
      data: { a: 'eA==' },
    }
    world.api.seed([secret], { manager: 'kubectl' })
    const { conflicts } = await world.send('config-changed', withSecret(HUSH))
    expect(conflicts).toEqual([{ object: 'Secret shop/web-tls', manager: 'kubectl' }])
    expect([valuesIn(world, 'web-tls'), templateOf(world)]).toEqual([['x'], undefined])
  })

  test('Secrets beside the workload stay while what was kept of them is gone', async () => {
    const world = await running(withSecret(HUSH))
    await remove(world, 'Secret', STORE)
    await world.send('resync', {})
    expect(valuesIn(world, 'web-tls')).toEqual([HUSH])
  })
})

test('a Secret of somebody else under the name of the kept values is refused, and left alone', async () => {
  const world = createEmptyWorld()
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: STORE, namespace: NAMESPACE } }
  world.api.seed([secret], { manager: 'kubectl' })
  expect(await answerTo(world, withEnv(HUSH))).toMatchObject({
    status: 400,
    text: expect.stringContaining(`${STORE} is somebody else's`),
  })
  expect(world.memory()).toBeUndefined()
})

test('Secrets are read by name and never listed', async () => {
  const world = await running(withSecret(HUSH))
  await world.send('resync', {})
  await world.app.request('/applications/shop/web', { headers: { authorization: 'Bearer good' } })
  await world.send('application-removed', {})
  expect(world.calls.filter((call) => call.startsWith('GET') && /\/secrets(\?|$)/.test(call))).toEqual([])
})

test('functions that may not touch Secrets refuse only a config that needs them', async () => {
  const world = createEmptyWorld()
  world.intercept = ({ path }) =>
    path.includes('/secrets')
      ? {
          status: 403,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            kind: 'Status',
            code: 403,
            reason: 'Forbidden',
            message: 'secrets is forbidden: User "x" cannot get resource "secrets"',
          }),
        }
      : undefined
  expect(await world.send('config-changed', deployed())).toMatchObject({ status: 'changed', messages: [] })
  expect((await answerTo(world, withEnv(HUSH))).text).toMatch(/cannot get resource .*Grant it with a Role/)
  expect(JSON.stringify(world.memory())).not.toContain(HUSH)
})

/** Each call of a change of the value, in turn the last of a process that is killed. */
describe('a process that is killed at any call', () => {
  test('a process that is killed at any call loses no value, and leaves none behind once the event is sent again', async () => {
    for (let last = 1; ; last += 1) {
      const world = await running(
        deployed({ ...withEnv('before').config.workload, secrets: { 'web-tls': { a: 'before' } } }),
      )
      const data = deployed({ ...withEnv(HUSH).config.workload, secrets: { 'web-tls': { a: HUSH } } })
      let calls = 0
      let isDead = false
      world.intercept = async (request) => {
        calls += 1
        if (calls > last) {
          isDead = true
          throw new Error('killed')
        }
        return await world.api.handle(request)
      }
      await world.post(event('config-changed', data, { id: 'same' }))
      world.intercept = undefined
      expect(resolved(world).join(), `after call ${last}`).toMatch(/before|hush/)
      await world.send('config-changed', data, { id: 'same' })
      await world.send('resync', {})
      await world.send('resync', {})
      expect([resolved(world), valuesIn(world, 'web-tls'), valuesIn(world)]).toEqual([[HUSH], [HUSH], [HUSH, HUSH]])
      if (!isDead) break
    }
  })
})

test('two that tell different values at once end with one of them, which is kept', async () => {
  const world = createEmptyWorld()
  const other = createEmptyWorld()
  // another process on the same cluster
  const answers = { handle: world.api.handle }
  other.intercept = (request) => answers.handle(request)
  await Promise.all([world.send('config-changed', withEnv('one')), other.send('config-changed', withEnv('two'))])
  await world.send('resync', {})
  await world.send('resync', {})
  expect(['one', 'two']).toContain(resolved(world)[0])
  expect(valuesIn(world)).toEqual(resolved(world))
})

describe('a secret that a unit makes new at each run', () => {
  const tell = async (world: World, value: string) => {
    const [unit] = await unitsOf(world)
    return await world.send('config-changed', {
      ...withEnv(value, { secrets: { 'web-tls': { 'tls.key': value } } }),
      unit,
    })
  }
  const slowed = async () => {
    const world = await running(withEnv(`${HUSH}0`, { secrets: { 'web-tls': { 'tls.key': `${HUSH}0` } } }))
    await tell(world, `${HUSH}1`)
    return { world, outcome: await tell(world, `${HUSH}2`) }
  }

  test('a secret that waits is in the Secret alone, and no memory, answer or status tells it, nor a hash of it', async () => {
    const { world, outcome } = await slowed()
    expect([resolved(world), valuesIn(world, 'web-tls')]).toEqual([[`${HUSH}1`], [`${HUSH}1`]])
    expect((await view(world)).status).toMatchObject({
      status: 'waiting',
      message: expect.stringMatching(/differs in podSpec.*valueFrom.*secrets\.web-tls/),
    })
    const told = JSON.stringify([outcome, await view(world), world.published, world.memory()])
    for (const value of [HUSH, canonicalHash(`${HUSH}2`), canonicalHash({ 'web-tls': { 'tls.key': `${HUSH}2` } })])
      expect(told).not.toContain(value)
  })

  test('a secret that waits is kept until it is taken, and then alone', async () => {
    const { world } = await slowed()
    await world.send('resync', {})
    expect(new Set(valuesIn(world))).toEqual(new Set([`${HUSH}1`, `${HUSH}2`]))
    world.clock.advance(10_000)
    for (const _ of [1, 2]) await world.send('resync', {})
    expect([resolved(world), new Set(valuesIn(world))]).toEqual([[`${HUSH}2`], new Set([`${HUSH}2`])])
  })
})

test('no answer, log or refusal tells a value', async () => {
  const world = await running(withEnv(HUSH))
  const outcome = await world.send('config-changed', withEnv('hush-hush-2'))
  expect(JSON.stringify([outcome, await view(world), world.published])).not.toContain('hush-hush')
  const refused = await answerTo(
    world,
    deployed({
      podSpec: podSpec('web:1', { env: { name: 'TOKEN', value: 'hush-hush-3' } }),
      secrets: { 'web-tls': ['hush-hush-4'] },
    }),
  )
  expect([refused.status, refused.text]).toEqual([400, expect.not.stringContaining('hush-hush')])
})

test('the calls that write Secrets are creations, patches and deletions', async () => {
  const world = await running(withSecret(HUSH))
  await world.send('config-changed', withSecret('other'))
  await world.send('resync', {})
  await world.send('application-removed', {})
  const verbs = world.calls
    .filter((call) => isWrite(call) && call.includes('/secrets'))
    .map((call) => call.split(' ')[0])
  expect([...new Set(verbs)].toSorted()).toEqual(['DELETE', 'PATCH', 'POST'])
})

test('values that the API server does not let be kept refuse their config, and the rest of what was told counts', async () => {
  const world = createEmptyWorld()
  world.intercept = ({ method, path }) =>
    method === 'POST' && path.includes('/secrets')
      ? {
          status: 403,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            kind: 'Status',
            code: 403,
            reason: 'Forbidden',
            message: 'exceeded quota: no secrets',
          }),
        }
      : undefined
  const answers = await Promise.all([answerTo(world, withEnv(HUSH)), answerTo(world, { settings: { a: '1' } })])
  expect(answers.map(({ status }) => status)).toEqual([500, 200])
  expect(answers[0]?.text).toContain('exceeded quota')
  expect(world.memory()?.state).toMatchObject({ settings: { a: '1' } })
})

test('a variable composed of secrets is named, as it is kept in clear', async () => {
  const env = [
    { name: 'PASSWORD', value: HUSH },
    { name: 'TOKEN_OF', value: 'x-$(PASSWORD)' },
  ]
  const world = createEmptyWorld()
  const { messages } = await world.send('config-changed', deployed({ podSpec: podSpec('web:1', { env }) }))
  expect(messages).toEqual([expect.stringMatching(/the value of TOKEN_OF in container web is kept in ConfigMaps/)])
})

test('a value that is told again while another process is about to forget it is kept', async () => {
  const world = await running(withEnv('one'))
  await world.send('config-changed', withEnv('two'))
  const other = createEmptyWorld()
  let isLate = true
  other.intercept = async (request) => {
    if (isLate && request.method === 'PATCH' && request.path.includes('/secrets/')) {
      isLate = false
      await world.send('config-changed', withEnv('one'))
    }
    return await world.api.handle(request)
  }
  await other.send('resync', {})
  expect([isLate, resolved(world)]).toEqual([false, ['one']])
  expect((await view(world)).status.status).toBe('active')
})

describe('a config that is text by mistake', () => {
  const text = `workload: {podSpec: {containers: [{name: web, image: "web:1", env: [{name: DB_PASSWORD, value: ${HUSH}}]}]}}`

  test.each([
    ['as a whole', text],
    ['in its workload', { workload: text }],
    ['in its pod spec', { workload: { podSpec: text } }],
  ])('a config that is text by mistake is refused %s without a word of it', async (_, config) => {
    const world = createEmptyWorld()
    const response = await world.post(event('config-changed', { config }))
    const answer = await response.text()
    expect([response.status, answer]).toEqual([400, expect.stringContaining('received string')])
    expect(answer).not.toContain(HUSH)
  })

  const data = JSON.stringify({ config: { workload: { secrets: { 'web-tls': { key: HUSH } } } } })
  const sent = (data: unknown) =>
    JSON.stringify({
      specversion: '1.0',
      id: '1',
      source: '/test',
      type: 'dev.meshstep.config-changed.v1',
      subject: 'shop/web',
      data,
    })

  test.each([
    ['data that are text', sent(data)],
    ['data that are a list', sent([JSON.parse(data)])],
    ['an event that was encoded twice', JSON.stringify(`{"data":${data}}`)],
    ['an event with a value that is not quoted', `{"data":${data.replace(`"${HUSH}"`, HUSH)}}`],
    ['an event with a quote too many', `{"data":${data.replace(HUSH, `"${HUSH}`)}}`],
  ])('a config that is text by mistake is told without a word of it: %s', async (_, body) => {
    const headers = { 'content-type': 'application/cloudevents+json' }
    const response = await createEmptyWorld().app.request('/', { method: 'POST', headers, body })
    const answer = await response.text()
    expect([response.status, answer]).toEqual([400, expect.stringMatching(/expected (a )?JSON/)])
    expect(answer).not.toContain('hush')
  })
})
