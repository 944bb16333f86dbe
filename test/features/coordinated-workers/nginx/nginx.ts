import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mainPort } from '../../../../src/features/coordinated-workers/nginx/ports.ts'
import { nginxConfiguration, type Routing } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { until } from '../../../process/helpers.ts'
import type { Certificate } from './certificate.ts'
import { nginxProgram } from './nginx-program.ts'
import { routingOf } from './routing.ts'

/** A user that owns nothing, for a file that must not need root. */
const NOBODY = 65534
const isRoot = process.getuid?.() === 0
const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

/** A directory that belongs to the user that nginx runs as. */
export const nginxDirectory = async (certificate?: Certificate): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'meshstep-nginx-'))
  await hand(directory)
  if (certificate !== undefined) {
    await write(join(directory, 'server.cert'), certificate.cert)
    await write(join(directory, 'server.key'), certificate.key)
    await write(join(directory, 'tls.crt'), certificate.cert)
    await write(join(directory, 'tls.key'), certificate.key)
    if (certificate.authority !== undefined) await write(join(directory, 'ca.crt'), certificate.authority)
  }
  return directory
}

const hand = async (path: string): Promise<void> => {
  if (isRoot) await chown(path, NOBODY, NOBODY)
}

const write = async (path: string, text: string): Promise<void> => {
  await writeFile(path, text)
  await hand(path)
}

/** The file as it is but for its directories: several of nginx run beside each other, and certificates are nowhere else on this machine. */
const moved = (text: string, directory: string): string =>
  text.replaceAll(/ \/tmp\//g, ` ${directory}/`).replaceAll(' /etc/nginx/certs/', ` ${directory}/`)

type Ended = { readonly code: number | null; readonly log: string }

type Process = { readonly ended: Promise<Ended>; log(): Promise<string>; kill(): Promise<Ended> }

/** nginx with `text` for its file. Its log is a file, which /dev/stderr then is. */
const run = async (directory: string, text: string, ...parameters: string[]): Promise<Process> => {
  const [file, logFile] = [join(directory, 'nginx.conf'), join(directory, 'log')]
  await write(file, moved(text, directory))
  await write(logFile, '')
  const log = await open(logFile, 'a')
  const child = spawn(nginxProgram ?? '', ['-e', 'stderr', '-p', directory, '-c', file, ...parameters], {
    ...user,
    stdio: ['ignore', log.fd, log.fd],
  })
  const ended = once(child, 'exit').then(async ([code]): Promise<Ended> => {
    await log.close()
    return { code, log: await readFile(logFile, 'utf8') }
  })
  return {
    ended,
    log: () => readFile(logFile, 'utf8'),
    kill: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** Why nginx would not start with the file; undefined when it would. */
export const objection = async (directory: string, text: string): Promise<string | undefined> => {
  const { code, log } = await (await run(directory, text, '-t')).ended
  return code === 0 ? undefined : log
}

/** Ports that are free, one after another, and not those that the system hands out by itself. */
export const freePorts = async (count: number): Promise<number> => {
  for (let first = 10_000 + (process.pid % 1000) * 16; first < 32_000; first += count) {
    const ports = Array.from({ length: count }, (_, index) => first + index)
    const areFree = await Promise.all(ports.map(isFree))
    if (areFree.every(Boolean)) return first
  }
  throw new Error(`No ${count} free ports`)
}

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, '0.0.0.0')
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (isListening) await new Promise((resolve) => server.close(resolve))
  return isListening
}

const isTaken = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1')
  const isConnected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isConnected
}

export type Served = { log(): Promise<string>; stop(): Promise<void> }

/** Starts nginx with a file, and waits until it takes connections at `port`. */
export const serveFile = async (text: string, port: number, certificate?: Certificate): Promise<Served> => {
  const directory = await nginxDirectory(certificate)
  const nginx = await run(directory, text, '-g', 'daemon off;')
  const ended = nginx.ended.then(({ log }) => Promise.reject(new Error(`nginx does not start: ${log}`)))
  ended.catch(() => undefined)
  await Promise.race([until('nginx takes connections', () => isTaken(port)), ended])
  return {
    log: nginx.log,
    stop: async () => {
      await nginx.kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export type Nginx = Served & { readonly routing: Routing }

/** Starts nginx with the file that is made for a coordinator on free ports. */
export const startNginx = async (overrides: Partial<Routing>, certificate?: Certificate): Promise<Nginx> => {
  const httpPort = await freePorts(4)
  const ports = { httpPort, grpcPort: httpPort + 1, httpsPort: httpPort + 3 }
  const routing = routingOf({ ports, tls: certificate !== undefined, ...overrides })
  return { routing, ...(await serveFile(nginxConfiguration(routing).text, mainPort(routing), certificate)) }
}
