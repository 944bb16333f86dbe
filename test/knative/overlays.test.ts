import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { build, builds, cannotBuild, folder } from './builds.ts'
import { ApiServerSource, all, Broker, functionServices, Trigger } from './kinds.ts'

const broker = (name: string) => {
  const objects = builds.find((candidate) => candidate.name === name)?.objects ?? []
  return {
    annotations: all(objects, Broker).map(({ metadata }) => metadata.annotations),
    order: all(objects, Trigger).map(
      ({ metadata }) => metadata.annotations['kafka.eventing.knative.dev/delivery.order'],
    ),
  }
}

describe.skipIf(cannotBuild)(`overlays ${cannotBuild ?? ''}`, () => {
  test.each(['overlays/dev', 'overlays/dev-single'])('%s has an in-memory broker that answers at once', (name) => {
    const { annotations, order } = broker(name)
    expect(annotations).toEqual([
      {
        'eventing.knative.dev/broker.class': 'MTChannelBasedBroker',
        'messaging.knative.dev/async-handler': 'true',
      },
    ])
    expect(new Set(order)).toEqual(new Set([undefined]))
  })

  test.each(['overlays/kafka', 'overlays/kafka-authentication'])('%s delivers in order', (name) => {
    const { annotations, order } = broker(name)
    expect(annotations).toEqual([{ 'eventing.knative.dev/broker.class': 'Kafka' }])
    expect(new Set(order)).toEqual(new Set(['ordered']))
  })

  test('the example in the README builds', () => {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(readFileSync(join(folder, 'README.md'), 'utf8')) ?? []
    const copy = mkdtempSync(join(tmpdir(), 'meshstep-knative-'))
    try {
      cpSync(folder, copy, { recursive: true })
      mkdirSync(join(copy, 'overlays/shop'))
      writeFileSync(join(copy, 'overlays/shop/kustomization.yaml'), example)
      const objects = build(join(copy, 'overlays/shop'))
      expect(functionServices(objects)).toHaveLength(1)
      expect(all(objects, ApiServerSource)).toHaveLength(4)
      expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['shop']))
    } finally {
      rmSync(copy, { recursive: true })
    }
  })

  test('the README names every overlay and component', () => {
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    for (const { name } of builds.filter((candidate) => candidate.name.startsWith('overlays/'))) {
      expect(readme).toContain(`\`${name}\``)
    }
  })
})
