import { describe, expect, test } from 'vitest'
import { MeshPolicy } from '../../../src/core/policies/models.ts'
import { namesProblem } from '../../../src/core/policies/name-problem.ts'

const PARTIES = { source_namespace: 'clients', source_app_name: 'web', target_namespace: 'shop' }
const APP = { ...PARTIES, target_app_name: 'db' }
const PODS = { ...PARTIES, target_type: 'unit', target_selector_labels: { tier: 'back' } }

describe('names of which no object can be made', () => {
  test.each([
    ['source_namespace', 'my_model'],
    ['source_app_name', 'senderApp'],
    ['source_app_name', '*'],
    ['source_app_name', ''],
    ['target_namespace', 'shop/../x'],
    ['target_app_name', '-db'],
    ['target_app_name', 'db\n'],
    ['target_service', 'db.shop'],
    ['target_service', 'x'.repeat(64)],
  ])('%s %j', (field, name) => {
    const problem = namesProblem(MeshPolicy.parse({ ...APP, [field]: name }))
    expect(problem).toMatch(`${field}: expected at most 63 lower-case letters, digits and hyphens, got "`)
  })

  test('one of any length, told in a line', () => {
    const problem = namesProblem(MeshPolicy.parse({ ...APP, source_app_name: 'x'.repeat(254) }))
    expect(problem).toMatch(/^source_app_name: expected .*, got "x{60}…"$/)
  })

  test.each([APP, PODS, { ...APP, target_service: '0-a', target_app_name: 'x'.repeat(63) }])('none: %j', (policy) => {
    expect(namesProblem(MeshPolicy.parse(policy))).toBeUndefined()
  })
})
