import { expect, test } from 'vitest'
import { CustomMeshPolicy } from '../../../src/features/service-mesh/custom-mesh-policy.ts'
import { issuesOf } from './issues.ts'

test.each([null, undefined, 1, []])('a policy of the config that is %j is refused as no policy', (value) => {
  expect(issuesOf(CustomMeshPolicy, value)).toEqual([{ path: [], message: expect.stringContaining('expected') }])
})
