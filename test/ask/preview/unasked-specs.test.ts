import { expect, test } from 'vitest'
import { event, workload } from '../../helpers/world.ts'
import { createPlace } from './planned.ts'

const config = { workload: { podSpec: { containers: [{ name: 'c', image: 'x:1', imagePullPolicy: 'Sometimes' }] } } }

test('a plan says that it does not know if the API server takes the spec of a workload', async () => {
  const { messages } = await createPlace(['web']).plan({
    events: [event('config-changed', { namespace: 'shop', application: 'api', config })],
  })
  expect(messages).toEqual([
    expect.stringMatching(/^it is not known if the API server takes the specs of Deployment shop\/api[,:]/),
  ])
})

test('a plan that only labels pods knows all that it needs', async () => {
  const place = createPlace(['web'])
  const labelled = workload('StatefulSet', 'web')
  const template = (labelled.spec as { template: { metadata: { labels: Record<string, string> } } }).template
  template.metadata.labels.team = 'red'
  const plan = await place.plan({ objects: [labelled] })
  expect(plan.objects.map(({ object }) => object)).toEqual(['StatefulSet shop/web'])
  expect(plan.messages).toEqual([])
})
