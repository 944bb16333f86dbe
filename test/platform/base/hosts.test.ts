import { expect, test } from 'vitest'
import { hostOrOriginProblem, isLoopback } from '../../../src/platform/base/hosts.ts'

const NAMES = ['*.svc', '*.svc.cluster.local', 'mesh.example']

test.each([
  ['localhost'],
  ['LOCALHOST:8080'],
  ['127.0.0.1:8080'],
  ['127.8.9.10'],
  ['[::1]:8080'],
  ['10.1.2.3:8012'],
  ['[fd00::1]'],
  ['meshstep.shop.svc'],
  ['meshstep.shop.svc.cluster.local:80'],
  ['mesh.example'],
  [undefined],
])('%s leads to nobody else', (host) => {
  expect(hostOrOriginProblem({ host }, NAMES)).toBeUndefined()
})

test.each([
  ['attacker.example'],
  ['localhost.attacker.example:8080'],
  ['127.0.0.1.attacker.example'],
  ['meshstep.shop.svc.attacker.example'],
  ['sub.mesh.example'],
  ['svc'],
  ['evilsvc'],
  ['[attacker.example]'],
  ['localhost@attacker.example'],
  ['2130706433'],
  [''],
])('%s may lead to somebody else', (host) => {
  expect(hostOrOriginProblem({ host }, NAMES)).toContain('ALLOWED_HOSTS')
})

test('any name may be allowed', () => {
  expect(hostOrOriginProblem({ host: 'attacker.example' }, ['*'])).toBeUndefined()
})

test.each([
  ['localhost:8080', 'http://localhost:8080', true],
  ['localhost:8080', 'http://LOCALHOST:8080', true],
  ['mesh.example', 'https://mesh.example', true],
  ['localhost:8080', 'http://localhost:3000', false],
  ['localhost:8080', 'https://attacker.example', false],
  ['localhost:8080', 'null', false],
  ['localhost:8080', 'http://localhost:8080.attacker.example', false],
])('%s is asked by a page of %s: %s', (host, origin, isOwn) => {
  expect(hostOrOriginProblem({ host, origin }, NAMES) === undefined).toBe(isOwn)
})

test.each([
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['127.attacker.example', false],
])('%s is of this machine alone: %s', (address, isOwn) => {
  expect(isLoopback(address)).toBe(isOwn)
})
