import { chmod, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type * as kubeconfig from '../../../src/platform/kubernetes/kubeconfig.ts'
import { type ApiServerEndpoint, createTransport } from '../../../src/platform/kubernetes/transport.ts'
import { configFor, temporaryDirectory } from '../../process/helpers.ts'
import { hasOpenssl, makeCertificate, startHttpsServer } from '../../process/https-server.ts'

const SERVER = 'https://api.example.invalid:6443'

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n'

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Writes a file into a directory of its own and answers with its path. */
const write = async (content: unknown, name = 'config'): Promise<string> => {
  const file = join(await temporaryDirectory(), name)
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const thrown = (action: () => unknown): unknown => {
  try {
    return action()
  } catch (error) {
    return error
  }
}

const find = async (endpoint: ApiServerEndpoint) => {
  const transport = createTransport(endpoint)
  onTestFinished(() => transport.close())
  const kubernetes = createKubernetes({ transport, clock: systemClock, deadline: Date.now() + 5_000 })
  return await kubernetes.find({ kind: 'ConfigMap', namespace: 'shop', name: 'one' })
}

/** What a kubeconfig leads to, of the sources or of a bundle, where errors have other classes. */
export const describeKubeconfigs = ({ kubeconfigEndpoint }: Pick<typeof kubeconfig, 'kubeconfigEndpoint'>): void => {
  const credentialsOf = async (user: Record<string, unknown>, cluster: Record<string, unknown> = {}) =>
    await kubeconfigEndpoint(await write(configFor({ server: SERVER, ...cluster }, user))).credentials()

  describe('a kubeconfig that does not lead to a cluster', () => {
    test('a kubeconfig does not lead to a cluster because it does not exist', () => {
      const error = thrown(() => kubeconfigEndpoint('/does/not/exist'))
      expect(error).toMatchObject({
        name: 'ConfigurationError',
        message: 'KUBECONFIG names /does/not/exist, which does not exist',
      })
    })

    test('a kubeconfig does not lead to a cluster because one of several files does not exist', async () => {
      const file = await write(configFor({ server: SERVER }))
      const error = thrown(() => kubeconfigEndpoint([file, '/does/not/exist'].join(delimiter)))
      expect(error).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining('/does/not/exist') })
    })

    test.each([
      ['no current context', { 'current-context': undefined }],
      ['a current context that it does not have', { 'current-context': 'elsewhere' }],
      ['a current context of a cluster that it does not have', { clusters: [] }],
    ])('a kubeconfig does not lead to a cluster because it has %s', async (_, change) => {
      const file = await write({ ...configFor({ server: SERVER }), ...change })
      const error = thrown(() => kubeconfigEndpoint(file))
      expect(error).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining(file) })
    })

    test.each(['http', 'https', 'socks5'])('a kubeconfig that leads to a proxy is refused: %s', async (scheme) => {
      const file = await write(configFor({ server: SERVER, 'proxy-url': `${scheme}://proxy.example.invalid` }))
      const error = thrown(() => kubeconfigEndpoint(file))
      expect(error).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining('proxy-url') })
    })

    test('a kubeconfig does not lead to a cluster because it is no YAML', async () => {
      const file = await write('clusters: [')
      const error = thrown(() => kubeconfigEndpoint(file))
      expect(error).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining(file) })
    })
  })

  describe('a user', () => {
    test('a user of a kubeconfig may have a token', async () => {
      expect((await credentialsOf({ token: 'secret' })).headers).toEqual({ Authorization: 'Bearer secret' })
    })

    test('a user of a kubeconfig may have a file with a token', async () => {
      const user = { 'token-file': await write('secret', 'token') }
      expect((await credentialsOf(user)).headers).toEqual({ Authorization: 'Bearer secret' })
    })

    test('a user of a kubeconfig may act as another one', async () => {
      const { headers } = await credentialsOf({ token: 'secret', as: 'you' })
      expect(headers).toEqual({ Authorization: 'Bearer secret', 'Impersonate-User': 'you' })
    })

    test('a user of a kubeconfig may have a name and a password', async () => {
      const { headers } = await credentialsOf({ username: 'me', password: 'pass:word' })
      expect(headers).toEqual({ authorization: `Basic ${base64('me:pass:word')}` })
    })

    test('a user of a kubeconfig may have a client certificate, for a cluster with an authority of its own', async () => {
      const data = { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') }
      const { cert, key, ca, headers } = await credentialsOf(data, {
        'certificate-authority-data': base64(CERTIFICATE),
      })
      expect({ cert: String(cert), key: String(key), ca: String(ca) }).toEqual({
        cert: 'cert',
        key: 'key',
        ca: CERTIFICATE,
      })
      expect(headers).toEqual({})
    })

    test('a user of a kubeconfig may have files named relative to the kubeconfig', async () => {
      const directory = await temporaryDirectory()
      const user = { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' }
      const config = configFor({ server: SERVER, 'certificate-authority': 'ca.crt' }, user)
      const files = { config: JSON.stringify(config), 'tls.crt': 'cert', 'tls.key': 'key', 'ca.crt': CERTIFICATE }
      for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
      const { cert, key, ca } = await kubeconfigEndpoint(join(directory, 'config')).credentials()
      expect([cert, key, ca].map(String)).toEqual(['cert', 'key', CERTIFICATE])
    })
  })

  describe('an exec plugin', () => {
    /** A plugin that notes each time it is run, and prints what `script` says. */
    const plugin = async (script: string) => {
      const directory = await temporaryDirectory()
      const command = join(directory, 'plugin')
      await writeFile(command, `#!/bin/sh\necho run >> ${join(directory, 'runs')}\n${script}\n`)
      await chmod(command, 0o755)
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' }
      const runs = async () => (await readFile(join(directory, 'runs'), 'utf8')).trim().split('\n').length
      return { exec, runs }
    }
    const credential = (status: Record<string, string>) =>
      `echo '${JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status })}'`

    test('an exec plugin that fails is the error of the call', async () => {
      const { exec } = await plugin('echo no session >&2; exit 3')
      await expect(credentialsOf({ exec })).rejects.toThrow(/no session/)
    })

    test('an exec plugin gives a client certificate', async () => {
      const { exec } = await plugin(credential({ clientCertificateData: 'cert', clientKeyData: 'key' }))
      expect(await credentialsOf({ exec })).toMatchObject({ cert: 'cert', key: 'key', headers: {} })
    })

    test('an exec plugin gives a token, and is not run again while that is valid', async () => {
      const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString()
      const { exec, runs } = await plugin(credential({ token: 'fresh', expirationTimestamp }))
      const endpoint = kubeconfigEndpoint(await write(configFor({ server: SERVER }, { exec })))
      expect((await endpoint.credentials()).headers).toEqual({ Authorization: 'Bearer fresh' })
      expect((await endpoint.credentials()).headers).toEqual({ Authorization: 'Bearer fresh' })
      expect(await runs()).toBe(1)
    })

    test('an exec plugin is run again when its token has expired', async () => {
      const { exec, runs } = await plugin(credential({ token: 'old', expirationTimestamp: '2020-01-01T00:00:00Z' }))
      const endpoint = kubeconfigEndpoint(await write(configFor({ server: SERVER }, { exec })))
      await endpoint.credentials()
      await endpoint.credentials()
      expect(await runs()).toBe(2)
    })
  })

  describe('an auth provider', () => {
    const jwt = (claims: Record<string, unknown>): string =>
      [{ alg: 'RS256' }, claims, 'signature']
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.')
    const providedBy = async (name: string, config: Record<string, string>) =>
      (await credentialsOf({ 'auth-provider': { name, config } })).headers

    test('an auth provider may be a file with a token', async () => {
      const tokenFile = await write('secret', 'token')
      expect(await providedBy('tokenFile', { tokenFile })).toEqual({ Authorization: 'Bearer secret' })
    })

    test.each(['gcp', 'azure'])('the auth provider %s asks a command for a token', async (name) => {
      const command = await write(`#!/bin/sh\necho '{"credential":{"token":"fresh"}}'\n`, 'command')
      await chmod(command, 0o755)
      const keys = { 'token-key': '{.credential.token}', 'expiry-key': '{.credential.expiry}' }
      expect(await providedBy(name, { 'cmd-path': command, ...keys })).toEqual({ Authorization: 'Bearer fresh' })
    })

    test('the auth provider oidc has a token', async () => {
      const token = jwt({ exp: Math.floor(Date.now() / 1000) + 3600 })
      expect(await providedBy('oidc', { 'id-token': token })).toEqual({ Authorization: `Bearer ${token}` })
    })

    test('the auth provider oidc whose token has expired says that there are no credentials', async () => {
      const config = { 'client-id': 'client', 'refresh-token': 'refresh', 'idp-issuer-url': 'https://127.0.0.1:1' }
      const expired = providedBy('oidc', { ...config, 'id-token': jwt({ exp: 1 }) })
      await expect(expired).rejects.toThrow(/no credentials/)
    })
  })

  describe('a cluster', () => {
    test('a cluster keeps its address', async () => {
      expect(kubeconfigEndpoint(await write(configFor({ server: `${SERVER}/k8s` }))).server).toBe(`${SERVER}/k8s`)
    })

    test('a cluster without TLS, as kubectl proxy serves it, needs nothing but its address', async () => {
      const endpoint = kubeconfigEndpoint(await write(configFor({ server: 'http://127.0.0.1:8001' })))
      expect((await endpoint.credentials()).headers).toEqual({})
    })

    test('whose certificate is not to be verified', async () => {
      const { rejectUnauthorized } = await credentialsOf({}, { 'insecure-skip-tls-verify': true })
      expect(rejectUnauthorized).toBe(false)
    })

    test('whose certificate is for another name', async () => {
      const { servername } = await credentialsOf({}, { 'tls-server-name': 'kubernetes.default' })
      expect(servername).toBe('kubernetes.default')
    })
  })

  describe('several files', () => {
    const joined = async (...configs: unknown[]) =>
      (await Promise.all(configs.map((config) => write(config)))).join(delimiter)

    test('complete each other', async () => {
      const { clusters, users, ...rest } = configFor({ server: SERVER }, { token: 'secret' })
      const endpoint = kubeconfigEndpoint(
        await joined({ ...rest, clusters }, { apiVersion: 'v1', kind: 'Config', users }),
      )
      expect(endpoint.server).toBe(SERVER)
      expect((await endpoint.credentials()).headers).toEqual({ Authorization: 'Bearer secret' })
    })

    test('an empty name between them is no file', async () => {
      const file = await write(configFor({ server: SERVER }))
      expect(kubeconfigEndpoint(`${file}${delimiter}${delimiter}`).server).toBe(SERVER)
    })

    const other = {
      'current-context': 'other',
      clusters: [{ name: 'other', cluster: { server: 'https://other.example.invalid' } }],
      contexts: [{ name: 'other', context: { cluster: 'other', user: 'other' } }],
      users: [{ name: 'other', user: {} }],
    }

    test('the first one that has a current context decides, as in kubectl', async () => {
      expect(kubeconfigEndpoint(await joined(configFor({ server: SERVER }), other)).server).toBe(SERVER)
    })

    test('the first one that has a name decides what it means, as in kubectl', async () => {
      const namesake = configFor({ server: 'https://other.example.invalid' })
      expect(kubeconfigEndpoint(await joined(configFor({ server: SERVER }), namesake)).server).toBe(SERVER)
    })
  })

  describe.skipIf(!hasOpenssl)('over HTTPS (needs openssl on the PATH)', () => {
    test('a client certificate is shown to the server, and a token is sent', async () => {
      const [server, client] = await Promise.all([makeCertificate('apiserver'), makeCertificate('me')])
      const { port, seen } = await startHttpsServer(server, { clientAuthority: client.cert })
      const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority': server.certFile }
      const user = { 'client-certificate': client.certFile, 'client-key': client.keyFile, token: 'secret' }
      expect(await find(kubeconfigEndpoint(await write(configFor(cluster, user))))).toMatchObject({ kind: 'ConfigMap' })
      expect(seen).toEqual([{ client: 'me', authorization: 'Bearer secret' }])
    })

    test('a server is reached under the name that its certificate has', async () => {
      const server = await makeCertificate('apiserver')
      const { port } = await startHttpsServer(server)
      const cluster = {
        server: `https://localhost:${port}`,
        'certificate-authority': server.certFile,
        'tls-server-name': 'kubernetes.default',
      }
      expect(await find(kubeconfigEndpoint(await write(configFor(cluster))))).toMatchObject({ kind: 'ConfigMap' })
    })
  })
}
