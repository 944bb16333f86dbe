import { expect, test } from 'vitest'
import * as z from 'zod'
import { combine } from '../../../src/core/feature/combine.ts'
import type { Feature } from '../../../src/core/feature/feature.ts'
import type { Config } from '../../../src/core/state/config.ts'
import { FEATURES } from '../../../src/features.ts'
import { istio } from '../../../src/mesh/istio/mesh.ts'
import { createWorld, event } from '../../helpers/world.ts'

const greetingOf = (config: Config | undefined) => (config as { greeting?: string } | undefined)?.greeting

const greeting: Feature = {
  name: 'greeting',
  config: { greeting: z.string().optional() },
  kinds: ({ config }) => (greetingOf(config) === undefined ? [] : ['ConfigMap']),
  desire: ({ subject: { namespace, application }, resolved: { state } }) => {
    const text = greetingOf(state.config)
    const metadata = { name: `${application}-greeting`, namespace }
    return { objects: text ? [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text } }] : [] }
  },
}

const createGreetingWorld = () => createWorld(undefined, { features: combine([...FEATURES, greeting], istio) })

test('a config key of no feature is refused', async () => {
  const world = createWorld()
  const response = await world.post(event('config-changed', { config: { greeting: 'hello' } }))
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('greeting')])
})

test('a feature of ten lines has a config, and objects that come, change and go with it', async () => {
  const world = createGreetingWorld()
  const tell = (config: object) => world.send('config-changed', { config })
  const text = () => world.object('ConfigMap', 'web-greeting')?.data?.text
  await tell({ greeting: 'hello' })
  expect(text()).toBe('hello')
  await tell({ greeting: 'good morning' })
  expect(text()).toBe('good morning')
  expect(await tell({ greeting: 'good morning' })).toMatchObject({ status: 'unchanged' })
  await tell({})
  expect(text()).toBeUndefined()
})
