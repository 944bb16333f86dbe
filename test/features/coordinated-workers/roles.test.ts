import { describe, expect, test } from 'vitest'
import {
  coordinatorStatus,
  expandRoles,
  missingRoles,
  workerStatus,
} from '../../../src/features/coordinated-workers/roles.ts'
import { CONFIG, configWith } from './samples.ts'

test.each([
  [{}, ['read', 'write']],
  [{ read: 1 }, ['write']],
  [{ read: 1, write: 0 }, ['write']],
  [{ all: 1 }, ['read', 'write']],
  [{ read: 1, write: 2, other: 1 }, []],
])('of units %j the roles %j are missing', (present, missing) => {
  expect(missingRoles(CONFIG, present)).toEqual(missing)
})

test('a meta role is missing as the roles that it stands for', () => {
  expect(missingRoles(configWith({ minimalDeployment: ['all'] }), { write: 1 })).toEqual(['read'])
})

test('nothing is missing where nothing is demanded', () => {
  expect(missingRoles(configWith({ minimalDeployment: undefined }), {})).toEqual([])
})

test.each([
  [['read'], ['read']],
  [
    ['write', 'all'],
    ['read', 'write'],
  ],
  [['constructor'], ['constructor']],
])('%j stands for %j', (roles, expanded) => {
  expect(expandRoles(roles, CONFIG)).toEqual(expanded)
})

describe('the status of a coordinator', () => {
  test.each([
    [false, {}, 'blocked', '[consistency] Missing any worker relation.'],
    [false, { read: 1, write: 1 }, 'blocked', '[consistency] Missing any worker relation.'],
    [true, {}, 'blocked', '[consistency] Cluster inconsistent. Missing roles: read, write.'],
    [true, { read: 1, write: 1 }, 'active', ''],
  ] as const)('workers: %s, units: %j', (hasWorkers, present, status, message) => {
    expect(coordinatorStatus(CONFIG, hasWorkers, present)).toEqual({ status, message })
  })

  const UNITS = configWith({
    minimalDeployment: ['read'],
    units: { read: { recommended: 3 }, write: { minimum: 2, recommended: 2, maximum: 3 } },
  })

  test.each([
    [{ read: 3, write: 1 }, 'blocked', '[consistency] Cluster inconsistent. Missing roles: write (1 of 2).'],
    [{ read: 0, write: 2 }, 'blocked', '[consistency] Cluster inconsistent. Missing roles: read.'],
    [{ read: 1, write: 2 }, 'active', '[consistency] Degraded. Recommended: read (1 of 3).'],
    [{ read: 3, write: 4 }, 'active', '[consistency] Superfluous roles: write (4, at most 3).'],
    [
      { read: 2, write: 4 },
      'active',
      '[consistency] Degraded. Recommended: read (2 of 3). Superfluous roles: write (4, at most 3).',
    ],
    [{ read: 3, write: 2 }, 'active', ''],
  ] as const)(
    'the status of a coordinator goes by rules for units, of which there are %j',
    (present, status, message) => {
      expect(coordinatorStatus(UNITS, true, present)).toEqual({ status, message })
    },
  )

  test('a rule for a meta role is one for each role that it stands for', () => {
    const config = configWith({ minimalDeployment: [], units: { all: { minimum: 2 } } })
    expect(missingRoles(config, { read: 2, write: 1 })).toEqual(['write'])
  })

  test('a role that has no place in the cluster is named', () => {
    const config = configWith({ minimalDeployment: [], units: { write: { maximum: 0 } } })
    expect(coordinatorStatus(config, true, { write: 1 }).message).toBe(
      '[consistency] Superfluous roles: write (1, at most 0).',
    )
  })
})

describe('the status of a worker', () => {
  const NO_ROLE =
    "Node offline: no role assigned. Please configure this worker to enable a role. For example: 'juju config reader role-all=true'."

  test.each([
    ['missing', [], 'blocked', 'Missing relation to a coordinator charm'],
    ['missing', ['read'], 'blocked', 'Missing relation to a coordinator charm'],
    ['silent', [], 'blocked', NO_ROLE],
    ['configured', [], 'blocked', NO_ROLE],
    ['silent', ['read'], 'waiting', 'Cluster relation not ready'],
    ['without config', ['read'], 'waiting', 'Waiting for coordinator to publish a config'],
    ['configured', ['read', 'write'], 'active', 'read,write ready.'],
    ['configured', ['all'], 'active', '(all roles) ready.'],
  ] as const)('relation %s, roles %j', (relation, roles, status, message) => {
    expect(workerStatus({ application: 'reader', roles, relation })).toEqual({ status, message })
  })
})
