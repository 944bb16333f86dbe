import { expect, test } from 'vitest'
import { requesterApplication } from '../../../src/core/reconcile/observe/unknown-consumers.ts'

test.each([
  ['relation 7 (service-mesh) of shop/db', 'shop/db'],
  ['relation 7 (point of sale) of shop/db', 'shop/db'],
  ['shop/db', 'shop/db'],
])('the requester %j is about the application %s', (name, application) => {
  expect(requesterApplication(name)).toBe(application)
})
