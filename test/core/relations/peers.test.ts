import { expect, test } from 'vitest'
import { readPeers } from '../../../src/core/relations/peers.ts'
import { memoryName } from '../../../src/core/state/memory.ts'
import { VERSION } from '../../../src/core/state/state.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import { memoryLabels } from '../../../src/platform/kubernetes/ownership-labels.ts'
import { fakeClock } from '../../helpers/clock.ts'

const memory = (application: string) => ({
  metadata: { name: memoryName(application), namespace: 'shop', labels: memoryLabels(application) },
  data: {
    labels: '{}',
    state: JSON.stringify({ version: VERSION, relations: {}, published: { [application]: { data: {} } } }),
  },
})

test('of a namespace with many memories only those are parsed that are asked for, and others have a turn between two', async () => {
  const remotes = Array.from({ length: 20 }, (_, index) => `remote-${index}`)
  const items = [...remotes, 'own', 'unrelated'].map(memory)
  const parsed: string[] = []
  let breaths = 0
  const kubernetes = createKubernetes({
    transport: async () => ({
      status: 200,
      headers: {},
      body: JSON.stringify({ kind: 'ConfigMapList', metadata: {}, items }),
    }),
    clock: {
      ...fakeClock(),
      yieldTurn: async () => {
        breaths += 1
      },
    },
    deadline: Number.POSITIVE_INFINITY,
    memo: (text, of) => {
      parsed.push(text)
      return of(text)
    },
  })
  const peers = await readPeers(
    kubernetes,
    remotes.map((application) => ({ namespace: 'shop', application })),
  )
  const found = [...peers.values()]
  expect(found.flatMap((peer) => ('state' in peer ? Object.keys(peer.state.published ?? {}) : []))).toEqual(remotes)
  const states = parsed.filter((text) => text.startsWith('{"version"'))
  expect(states).toHaveLength(remotes.length)
  expect(breaths).toBe(remotes.length)
})
