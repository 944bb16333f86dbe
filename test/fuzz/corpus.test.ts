import { expect, test } from 'vitest'
import { DOCUMENTS, EVENTS } from './corpus.ts'
import { configMap, createFuzzed, EVENT, post, tell } from './world.ts'

test.each(EVENTS)('the corpus has a good $name', async ({ name, data }) => {
  const answer = await tell(createFuzzed(), name, data)
  expect(answer.status, await answer.text()).toBe(200)
})

test.each(DOCUMENTS)('the corpus has a good document of a $kind', async ({ kind, data }) => {
  const document = configMap('said', data, { 'meshstep.dev/kind': kind })
  const headers = { ...EVENT, 'ce-type': 'dev.knative.apiserver.resource.add' }
  const answer = await post(createFuzzed([document]), headers, JSON.stringify(document))
  expect(answer.status, await answer.text()).toBe(200)
})
