import { beforeAll, describe, expect, test } from 'vitest'
import { collectAuthorities } from '../../../src/features/coordinated-workers/certificates.ts'
import { hasOpenssl } from '../../process/https-server.ts'
import { makeCertificate } from './nginx/certificate.ts'
import { byId, CONFIG, configWith, provider } from './samples.ts'

const passing = (id: number, certificates: unknown) => provider(id, 'receive-ca-cert', {}, { certificates })
const passingUnit = (id: number, databag: object) => provider(id, 'receive-ca-cert', { 'ca/0': { ...databag } })

test.each([
  ['no list', passing(7, '{}'), 'relation 7 (receive-ca-cert): data'],
  ['no PEM', passing(7, ['x']), 'relation 7 (receive-ca-cert): data'],
  [
    'no certificate',
    passingUnit(7, { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' }),
    'relation 7 (receive-ca-cert): ca/0',
  ],
])('%s is named, and not trusted', (_, relation, where) => {
  expect(collectAuthorities(byId(relation), CONFIG)).toEqual({
    pem: undefined,
    problems: [`${where}: expected certificates in PEM; invalid ones are not trusted`],
  })
})

test('without a relation nobody is trusted, and nothing is verified', () => {
  expect(collectAuthorities({}, configWith({ tls: { secret: 'tls', caCert: 'x' } }))).toEqual({
    pem: undefined,
    problems: [],
  })
  expect(collectAuthorities(byId(passing(7, [])), CONFIG)).toEqual({ pem: undefined, problems: [] })
})

describe.skipIf(!hasOpenssl)('authorities (skipped without openssl)', () => {
  let one: string
  let other: string
  beforeAll(async () => {
    const made = await Promise.all([makeCertificate('one.test'), makeCertificate('other.test')])
    ;[one = '', other = ''] = made.map(({ cert }) => cert).toSorted()
  })

  test('authorities are a list of the application, or of each unit, in an order of their own', () => {
    const expected = { pem: `${one}${other}`, problems: [] }
    expect(collectAuthorities(byId(passing(7, JSON.stringify([other, one]))), CONFIG)).toEqual(expected)
    expect(collectAuthorities(byId(passing(7, [`${one}\n${other}`])), CONFIG)).toEqual(expected)
    expect(
      collectAuthorities(byId(passingUnit(7, { ca: other, chain: JSON.stringify([one, other]) })), CONFIG),
    ).toEqual(expected)
  })

  test('authorities are those of all relations, whatever one of them says', () => {
    expect(collectAuthorities(byId(passing(7, [other]), passing(8, 5), passing(9, [one])), CONFIG)).toEqual({
      pem: `${one}${other}`,
      problems: ['relation 8 (receive-ca-cert): data: expected certificates in PEM; invalid ones are not trusted'],
    })
  })

  test('authorities are with the cluster’s own, whose workers have certificates of it', () => {
    const config = configWith({ tls: { secret: 'tls', caCert: other } })
    expect(collectAuthorities(byId(passing(7, [one])), config).pem).toBe(`${one}${other}`)
  })

  test('of one relation are bounded', () => {
    const many = Array.from({ length: 400 }, () => one)
    expect(collectAuthorities(byId(passing(7, many), passing(8, [other])), CONFIG)).toEqual({
      pem: other,
      problems: [expect.stringMatching(/^relation 7 \(receive-ca-cert\): expected at most 131072 bytes/)],
    })
  })
})
