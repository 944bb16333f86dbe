import { describe, expect, test } from 'vitest'
import { coordinatorStatus, expandRoles, missingRoles, workerStatus } from '../../src/cluster/roles.ts'
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
    [false, ['read'], 'blocked', '[consistency] Missing any worker relation.'],
    [false, [], 'blocked', '[consistency] Missing any worker relation.'],
    [true, ['read', 'write'], 'blocked', '[consistency] Cluster inconsistent. Missing roles: read, write.'],
    [true, [], 'active', ''],
  ] as const)('workers: %s, missing: %j', (hasWorkers, missing, status, message) => {
    expect(coordinatorStatus(hasWorkers, missing)).toEqual({ status, message })
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
