import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { run, temporaryDirectory } from './helpers.ts'

export const hasOpenssl = await run('openssl', ['version']).then(
  () => true,
  () => false,
)

export type Certificate = { cert: string; key: string; certFile: string; keyFile: string }

/** A new certificate for this machine that is its own authority. */
export const makeCertificate = async (commonName: string): Promise<Certificate> => {
  const directory = await temporaryDirectory()
  const certFile = join(directory, 'tls.crt')
  const keyFile = join(directory, 'tls.key')
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const names = ['-subj', `/CN=${commonName}`, '-addext', 'subjectAltName=DNS:kubernetes.default,IP:127.0.0.1,IP:::1']
  await run('openssl', ['req', ...kind, ...names, '-keyout', keyFile, '-out', certFile])
  return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8'), certFile, keyFile }
}

/** A request as the server saw it: who the client said it is. */
export type Seen = { authorization: string | undefined; client: string | undefined }

const OBJECT = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'shop' } }

export type HttpsServer = { port: number; seen: Seen[]; connections(): number }

/** Answers each request with one ConfigMap; a client may show a certificate of `clientAuthority`. */
export const startHttpsServer = async (
  { cert, key }: Certificate,
  { host = '127.0.0.1', clientAuthority }: { host?: string; clientAuthority?: string } = {},
): Promise<HttpsServer> => {
  const seen: Seen[] = []
  let connections = 0
  const server = createServer({ cert, key, ...(clientAuthority && { requestCert: true, ca: clientAuthority }) })
  server.on('secureConnection', () => {
    connections += 1
  })
  server.on('request', (request: IncomingMessage, response) => {
    const subject = (request.socket as TLSSocket).getPeerCertificate().subject?.CN
    seen.push({ authorization: request.headers.authorization, client: subject?.toString() })
    response.end(JSON.stringify(OBJECT))
  })
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, seen, connections: () => connections }
}
