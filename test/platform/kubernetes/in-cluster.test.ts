import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { ConfigurationError, Unavailable } from '../../../src/platform/base/errors.ts'
import { createKubernetes, type Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import { inClusterEndpoint } from '../../../src/platform/kubernetes/in-cluster.ts'
import { type ApiServerEndpoint, createTransport } from '../../../src/platform/kubernetes/transport.ts'
import { temporaryDirectory } from '../../process/helpers.ts'
import { hasOpenssl, makeCertificate, startHttpsServer } from '../../process/https-server.ts'

const REFERENCE = { kind: 'ConfigMap', namespace: 'shop', name: 'one' } as const

/** The same delays between attempts every time, so that the last one ends well before the deadlines here. */
const CLOCK = { ...systemClock, random: () => 0.5 }

const hasIpv6 = await (async () => {
  const server = createServer().listen(0, '::1')
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  server.close()
  return listens
})()

/** Node 22.23 accepts no certificate of an IPv6 address. */
const acceptsIpv6 =
  checkServerIdentity('::1', {
    subject: { CN: 'apiserver' },
    subjectaltname: 'IP Address:0:0:0:0:0:0:0:1',
  } as unknown as PeerCertificate) === undefined
const becauseOfIpv6 = acceptsIpv6 ? '' : `: skipped, Node ${process.version} accepts no certificate of an IPv6 address`

/** A service account as the kubelet mounts it. */
const mount = async (files: Record<string, string>): Promise<string> => {
  const directory = await temporaryDirectory()
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  return directory
}

const endpointAt = (host: string, port: number | string, directory: string): ApiServerEndpoint => {
  const environment = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: String(port) }
  const endpoint = inClusterEndpoint(environment, directory)
  if (!endpoint) throw new Error('Expected an endpoint')
  return endpoint
}

const connectTo = (endpoint: ApiServerEndpoint, milliseconds = 5_000): Kubernetes => {
  const transport = createTransport(endpoint)
  onTestFinished(() => transport.close())
  return createKubernetes({ transport, clock: CLOCK, deadline: Date.now() + milliseconds })
}

const outcome = <T>(promise: Promise<T>): Promise<unknown> => promise.catch((error: unknown) => error)

describe('a pod', () => {
  test.each([{}, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, { KUBERNETES_SERVICE_PORT: '443' }])(
    'a pod is what has both host and port: %o is none',
    (environment) => {
      expect(inClusterEndpoint(environment)).toBeUndefined()
    },
  )

  test.each(['token', 'ca.crt'])('a pod without a mounted %s is told so at once', async (missing) => {
    const directory = await mount({ token: 't', 'ca.crt': 'c' })
    await rm(join(directory, missing))
    const error = await outcome(connectTo(endpointAt('127.0.0.1', 443, directory), 60_000).find(REFERENCE))
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error).toMatchObject({ message: expect.stringContaining(`${join(directory, missing)} cannot be read`) })
  })

  test.each([
    ['10.96.0.1', 'https://10.96.0.1:443'],
    ['kubernetes.default', 'https://kubernetes.default:443'],
    ['fd00::1', 'https://[fd00::1]:443'],
  ])('a pod finds %s at %s', (host, server) => {
    expect(endpointAt(host, 443, '/nowhere').server).toBe(server)
  })

  test('a pod does not send the end of the line of its token', async () => {
    const endpoint = endpointAt('127.0.0.1', 443, await mount({ token: 'secret\n', 'ca.crt': 'c\n' }))
    expect(await endpoint.credentials()).toEqual({ ca: 'c', headers: { authorization: 'Bearer secret' } })
  })
})

describe.skipIf(!hasOpenssl)('over HTTPS (needs openssl on the PATH)', () => {
  test('a server of another authority is unavailable, and the certificate is named as the reason', async () => {
    const [real, other] = await Promise.all([makeCertificate('apiserver'), makeCertificate('other')])
    const { port, seen } = await startHttpsServer(real)
    const endpoint = endpointAt('127.0.0.1', port, await mount({ token: 't', 'ca.crt': other.cert }))
    const error = await outcome(connectTo(endpoint, 650).find(REFERENCE))
    expect(error).toBeInstanceOf(Unavailable)
    expect(error).toMatchObject({ message: expect.stringMatching(/the API server did not answer \(.*certificate/) })
    expect(seen).toEqual([])
  })

  test('a server of another name is unavailable', async () => {
    const certificate = await makeCertificate('apiserver')
    const { port, seen } = await startHttpsServer(certificate)
    const endpoint = endpointAt('localhost', port, await mount({ token: 't', 'ca.crt': certificate.cert }))
    const error = await outcome(connectTo(endpoint, 650).find(REFERENCE))
    expect(error).toMatchObject({ name: 'Unavailable', message: expect.stringContaining('localhost') })
    expect(seen).toEqual([])
  })

  test('the mounted authority is trusted, the token is sent, and calls share one connection', async () => {
    const certificate = await makeCertificate('apiserver')
    const { port, seen, connections } = await startHttpsServer(certificate)
    const directory = await mount({ token: 'first', 'ca.crt': certificate.cert })
    const kubernetes = connectTo(endpointAt('127.0.0.1', port, directory))
    for (let call = 0; call < 5; call += 1)
      expect(await kubernetes.find(REFERENCE)).toMatchObject({ metadata: { name: 'one' } })
    expect(seen.map(({ authorization }) => authorization)).toEqual(Array(5).fill('Bearer first'))
    expect(connections()).toBe(1)
  })

  test('a token that the kubelet rotates is the one of the next call', async () => {
    const certificate = await makeCertificate('apiserver')
    const { port, seen } = await startHttpsServer(certificate)
    const directory = await mount({ token: 'first', 'ca.crt': certificate.cert })
    const kubernetes = connectTo(endpointAt('127.0.0.1', port, directory))
    await kubernetes.find(REFERENCE)
    await writeFile(join(directory, 'token'), 'second')
    await kubernetes.find(REFERENCE)
    expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer first', 'Bearer second'])
  })

  test('an authority that is replaced is trusted from the next call on', async () => {
    const [old, certificate] = await Promise.all([makeCertificate('old'), makeCertificate('apiserver')])
    const { port } = await startHttpsServer(certificate)
    const directory = await mount({ token: 't', 'ca.crt': old.cert })
    const endpoint = endpointAt('127.0.0.1', port, directory)
    expect(await outcome(connectTo(endpoint, 650).find(REFERENCE))).toBeInstanceOf(Unavailable)
    await writeFile(join(directory, 'ca.crt'), certificate.cert)
    expect(await connectTo(endpoint).find(REFERENCE)).toMatchObject({ metadata: { name: 'one' } })
  })

  test('calls after a change of the authority share no connection with those before', async () => {
    const [old, certificate] = await Promise.all([makeCertificate('old'), makeCertificate('apiserver')])
    const { port, connections } = await startHttpsServer(certificate)
    const directory = await mount({ token: 't', 'ca.crt': certificate.cert })
    const kubernetes = connectTo(endpointAt('127.0.0.1', port, directory))
    for (let call = 0; call < 2; call += 1) await kubernetes.find(REFERENCE)
    await writeFile(join(directory, 'ca.crt'), old.cert + certificate.cert)
    for (let call = 0; call < 2; call += 1) await kubernetes.find(REFERENCE)
    expect(connections()).toBe(2)
  })

  test.skipIf(!hasIpv6 || !acceptsIpv6)(`a server with an IPv6 address is reached${becauseOfIpv6}`, async () => {
    const certificate = await makeCertificate('apiserver')
    const { port } = await startHttpsServer(certificate, { host: '::1' })
    const directory = await mount({ token: 't', 'ca.crt': certificate.cert })
    expect(await connectTo(endpointAt('::1', port, directory)).find(REFERENCE)).toMatchObject({ kind: 'ConfigMap' })
  })
})
