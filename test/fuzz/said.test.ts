import fc from 'fast-check'
import { test } from 'vitest'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { DOCUMENTS, EVENTS } from './corpus.ts'
import { mutated, text } from './hostile.ts'
import { configMap, createFuzzed, EVENT, expectAnswer, FAIR, fuzz, post, tell } from './world.ts'

const resync = { namespace: 'shop', application: 'web' }

test('whatever the data of an event are, it is taken or refused, and so is what comes after it', async () => {
  const event = fc.nat({ max: EVENTS.length - 1 }).chain((index) => {
    const { name = '', data = {} } = EVENTS[index] ?? {}
    return fc.tuple(fc.constant(name), mutated([data]))
  })
  await fuzz('data and databags', 2_000, fc.array(event, { minLength: 1, maxLength: 2 }), async (events) => {
    const world = createFuzzed()
    for (const [name, data] of events) await expectAnswer(await tell(world, name, data), FAIR, world.lines)
    await expectAnswer(await tell(world, 'resync', resync), [200], world.lines)
    await expectAnswer(await world.app.request('/applications/shop/web'), FAIR, world.lines)
  })
})

const RESOURCE = 'dev.knative.apiserver.resource.update'

test('whatever a document says, it is taken or refused, and a resync goes on', async () => {
  const document = fc
    .constantFrom(...DOCUMENTS)
    .chain(({ kind, data }) =>
      fc.record({ kind: fc.oneof({ weight: 9, arbitrary: fc.constant(kind) }, text), data: documentData(data) }),
    )
    .filter(({ data }) => Object.values(data).join('').length < 1_000_000)
  await fuzz('documents', 1_300, document, async ({ kind, data }) => {
    const object = configMap('said', data, { 'meshstep.dev/kind': kind })
    const world = createFuzzed([stored(object)])
    const sent = await post(world, { ...EVENT, 'ce-type': RESOURCE }, JSON.stringify(object))
    await expectAnswer(sent, FAIR, world.lines)
    await expectAnswer(await tell(world, 'resync', { namespace: 'shop' }), [200], world.lines)
    await expectAnswer(await tell(world, 'resync', resync), [200], world.lines)
  })
})

/** As the API server would have it: keys and labels of other characters never get into one. */
const stored = ({ data = {}, metadata, ...others }: KubernetesObject): KubernetesObject => ({
  ...others,
  metadata: {
    ...metadata,
    labels: { 'meshstep.dev/kind': metadata.labels?.['meshstep.dev/kind'] === 'config' ? 'config' : 'relation' },
  },
  data: Object.fromEntries(
    Object.entries(data).filter(([key]) => /^[-._a-zA-Z0-9]{1,253}$/.test(key) && !/^\.\.?/.test(key)),
  ),
})

/** Values of a ConfigMap are texts; what these say may be anything. */
const documentData = (good: Record<string, string>): fc.Arbitrary<Record<string, string>> => {
  const parsed = Object.entries(good).map(([key, value]) => [key, jsonIn(value)] as const)
  const texts = mutated([Object.fromEntries(parsed)]).map((one) =>
    Object.fromEntries(
      Object.entries(one ?? {}).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
    ),
  )
  return fc.oneof({ weight: 5, arbitrary: texts }, { weight: 2, arbitrary: mutated([good]).map(onlyTexts) })
}

const jsonIn = (value: string): unknown => {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

const onlyTexts = (one: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(one ?? {}).filter(([, value]) => typeof value === 'string'))
