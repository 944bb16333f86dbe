import { describe, expect, test } from 'vitest'
import { fillTemplate } from '../../src/cli/json-path.ts'

const DATA = [
  { application: 'web', status: { status: 'active' }, labels: { 'istio.io/use-waypoint': 'way' } },
  { application: 'db', status: { status: 'waiting' }, labels: {} },
]

describe('a template of jsonpath, as kubectl has it', () => {
  test.each<[string, string]>([
    ['{[0].application}', 'web'],
    ['{$[1].status.status}', 'waiting'],
    ['{[*].application}', 'web db'],
    ['{[0].status}', '{"status":"active"}'],
    ['{[0].labels.istio\\.io/use-waypoint}', 'way'],
    ['{[?(@.application=="db")].status.status}', 'waiting'],
    ['{[0].nothing}', ''],
    ['{[-1].application}', 'db'],
    ['{[-2].application}', 'web'],
    ['{[?(@.leader.unit=="db/0")].application}', ''],
    ['names: {[*].application}.', 'names: web db.'],
    ['{range [*]}{.application}={.status.status}{"\\n"}{end}', 'web=active\ndb=waiting\n'],
    ['{range [*]}{.application}{","}{end}{[0].application}', 'web,db,web'],
    ['{"{"}', '{'],
    ["{'a b'}", 'a b'],
  ])('%s gives %s', (template, text) => {
    expect(fillTemplate(template, DATA)).toBe(text)
  })

  test.each(['{end}', '{[0].application', '{range [*]}{.application}', '{"\\x"}', '{[?(}'])(
    '%s is refused',
    (template) => {
      expect(() => fillTemplate(template, DATA)).toThrow(/^--output jsonpath: /)
    },
  )
})
