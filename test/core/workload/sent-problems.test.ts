import { expect, test } from 'vitest'
import { givenProblems } from '../../../src/core/workload/sent-problems.ts'
import { podSpec, workload } from './samples.ts'

const [container = { name: 'web', image: 'x' }] = podSpec().containers

test.each([
  ['a fraction of a quantity', { containers: [{ ...container, resources: { limits: { cpu: 0.5 } } }] }],
  ['a large number of a user', { containers: [container], securityContext: { runAsUser: 2 ** 40 } }],
])('%s is no problem', (_, spec) => {
  expect(givenProblems({ workload: workload({ podSpec: spec }) })).toEqual([])
})

test('a container in the list of init containers is named by its place', () => {
  const spec = { containers: [container], initContainers: [{ name: 'init', image: 'x\n' }] }
  expect(givenProblems({ workload: workload({ podSpec: spec }) })).toEqual([
    { path: ['podSpec', 'initContainers', 0, 'image'], message: 'expected an image without spaces, got "x\\n"' },
  ])
})
