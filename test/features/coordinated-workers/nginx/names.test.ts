import { networkInterfaces } from 'node:os'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { proxiedEndpoints, type Routing } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { until } from '../../../process/helpers.ts'
import { type Backend, startHttpBackend } from './backends.ts'
import { arrived, send } from './clients.ts'
import { A, AAAA, type Dns, startDns } from './dns.ts'
import { type Nginx, startNginx } from './nginx.ts'
import { nginxProgram } from './nginx-program.ts'

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
)

describe.skipIf(nginxProgram === undefined)('names of backends, with a real nginx (skipped without one)', () => {
  const addresses = new Map<string, string>()
  let dns: Dns
  let backend: Backend
  beforeAll(async () => {
    dns = await startDns((name) => addresses.get(name))
    backend = await startHttpBackend('backend')
  })
  afterAll(() => Promise.all([dns.stop(), backend.stop()]))
  afterEach(() => {
    addresses.clear()
    dns.asked.clear()
  })

  const start = async (hosts: readonly string[], overrides: Partial<Routing> = {}) => {
    const logging = hosts.map((host, index) => ({ unit: `loki/${index}`, url: `http://${host}:${backend.port}/push` }))
    const nginx: Nginx = await startNginx({ resolver: dns.resolver, logging, ...overrides })
    onTestFinished(nginx.stop)
    const urls = Object.values(proxiedEndpoints(nginx.routing).loki_endpoints)
    return { statusOf: async (index: number) => (await send(urls[index] ?? '')).status, urls }
  }

  test('one that does not exist is a bad gateway, until it does; the others are reached', async () => {
    addresses.set('there.test', '127.0.0.1')
    const { statusOf } = await start(['away.test', 'there.test', '127.0.0.1'])
    expect(await Promise.all([0, 1, 2].map(statusOf))).toEqual([502, 200, 200])
    addresses.set('away.test', '127.0.0.1')
    expect(await statusOf(0)).toBe(200)
  })

  test('an address that changes is followed', async () => {
    addresses.set('moving.test', '127.0.0.2')
    const { statusOf } = await start(['moving.test'])
    // enough to be taken by more than one process of nginx: each remembers for itself
    const statuses = async () => new Set(await Promise.all(Array.from({ length: 50 }, () => statusOf(0))))
    expect(await statuses()).toEqual(new Set([502]))
    addresses.set('moving.test', '127.0.0.1')
    await until('all go to the new address', async () => !(await statuses()).has(502))
  })

  test('nginx starts without any DNS, and reaches addresses', async () => {
    const { statusOf } = await start(['never.test', '127.0.0.1'], { resolver: '127.0.0.1:1' })
    expect(await statusOf(1)).toBe(200)
  })

  test('nginx starts with a resolver that is no address, and reaches addresses', async () => {
    const { statusOf } = await start(['never.test', '127.0.0.1'], { resolver: 'dns.test' })
    expect(await Promise.all([0, 1].map(statusOf))).toEqual([502, 200])
  })

  test('without IPv6 nobody asks for addresses of IPv6', async () => {
    const { statusOf } = await start(['away.test'])
    expect(await statusOf(0)).toBe(502)
    expect(dns.asked).toEqual(new Set([A]))
  })

  test.skipIf(!hasIpv6)('with IPv6 (skipped without) both are asked for, listened to and reached', async () => {
    const other = await startHttpBackend('other', { host: '::1' })
    onTestFinished(other.stop)
    const logging = [
      { unit: 'loki/0', url: 'http://away.test/' },
      { unit: 'loki/1', url: `http://[::1]:${other.port}/push` },
    ]
    const { statusOf, urls } = await start([], { ipv6: true, logging })
    expect(await statusOf(0)).toBe(502)
    expect(dns.asked).toEqual(new Set([A, AAAA]))
    const url = `${urls[1]}`.replace('127.0.0.1', '[::1]')
    expect(await arrived(url)).toMatchObject({ at: 'other', url: '/push', host: `[::1]:${other.port}` })
  })
})
