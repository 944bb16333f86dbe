import { describe, expect, test } from 'vitest'
import { negotiate, spokenVersions } from '../../../../src/core/relations/databags/protocol-versions.ts'
import { Versions } from '../../../../src/core/state/config.ts'

const BOTH = [0, 1] as const

const says = (versions: unknown, others: Record<string, unknown> = {}) => ({ _supported_versions: versions, ...others })

describe('without a version in common both ranges are named', () => {
  test.each([
    ['later ones', BOTH, says('["v2", "v3"]'), 'v0, v1 here, v2, v3 there'],
    ['the old form is held to, and not spoken there', [0], says('["v1"]'), 'v0 here, v1 there'],
    ['the old form is spoken there, and given up here', [1], {}, 'v1 here, v0 there'],
    ['in order, once', [1, 0], says([4, 'v3', 3]), 'v0, v1 here, v3, v4 there'],
    [
      'not more than a message can hold',
      [0],
      says(Array.from({ length: 1000 }, (_, index) => index + 1)),
      'v0 here, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, … there',
    ],
  ] as const)('%s', (_, local, remote, ranges) => {
    expect(negotiate(local, remote)).toEqual({ incompatible: `no version in common: ${ranges}` })
  })
})

describe('versions that cannot be read are not the same as none', () => {
  test.each([
    ['a number', '1', '_supported_versions: expected a list of versions, got 1'],
    ['text', 'v1', '_supported_versions: expected a list of versions, got "v1"'],
    ['null', null, '_supported_versions: expected a list of versions, got null'],
    ['an object', { v1: true }, '_supported_versions: expected a list of versions, got an object'],
    ['a broken list', '["v1"', '_supported_versions: neither JSON nor YAML: '],
    [
      'no version in the list',
      ['latest', 1.5],
      '_supported_versions: expected versions such as 1 or "v1", got "latest"',
    ],
    ['what only looks like one', ['v-1', 'v', 'v1e3', 'V1', '1', 'v1\n2', -1, true, null, ['v1']], '"v-1"'],
    ['nesting without end', [JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)], 'got a list'],
  ])('%s', (_, versions, problem) => {
    expect(negotiate(BOTH, says(versions))).toEqual({ unreadable: expect.stringContaining(problem) })
  })
})

describe('the highest version in common', () => {
  test.each([
    ['nothing published is the old form', BOTH, {}, 0],
    ['and so is nothing in it', BOTH, says(''), 0],
    ['or an empty list', BOTH, says('[]'), 0],
    ['JSON', BOTH, says('["v0", "v1"]'), 1],
    ['YAML, as serialized-data-interface writes it', BOTH, says('- v1\n'), 1],
    ['numbers', BOTH, says('[0, 1]'), 1],
    ['JSON values', BOTH, says(['v0', 1]), 1],
    ['in any order', [1, 0], says(['v1', 'v0']), 1],
    ['later ones are left out', BOTH, says(['v0', 'v1', 'v2']), 1],
    ['what is no version is left out', BOTH, says(['latest', 'v0', {}]), 0],
    ['this side is held back', [0], says(['v0', 'v1']), 0],
    ['the other side is held back', BOTH, says(['v0']), 0],
    ['the old form is given up here', [1], says(['v0', 'v1']), 1],
  ] as const)('%s', (_, local, remote, version) => {
    expect(negotiate(local, remote)).toEqual({ version })
  })
})

describe('a side can be held back', () => {
  test.each([
    ['an interface that is not known', { 'service-mesh': [0] }],
    ['a version that is not spoken', { cluster: [2] }],
    ['no version at all', { cluster: [] }],
    ['one version without its list', { cluster: 0 }],
  ])('a side cannot be held back with %s', (_, config) => {
    expect(Versions.safeParse(config).success).toBe(false)
  })

  test('a side can be held back for one interface alone', () => {
    const config = Versions.parse({ cluster: [0] })
    expect(spokenVersions('cluster', config)).toEqual([0])
    expect(spokenVersions('service_mesh', config)).toEqual([0, 1])
    expect(spokenVersions('k8s-service')).toEqual([0, 1])
  })
})
