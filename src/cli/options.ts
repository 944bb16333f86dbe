import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { Window } from '../ask/traffic/window.ts'
import type { Name } from '../serve/page/relating.ts'
import { Failure } from './failure.ts'
import type { Format } from './output.ts'
import { connect, type Server } from './server.ts'

/** The settings that all commands share. */
export type Settings = {
  readonly namespace: string
  readonly format: Format
  readonly server: Server
}

type Given = {
  server: string
  namespace: string
  output?: string
  token?: string
  tokenFile?: string
  context?: string
  target: string
}

export const FORMATS = ['table', 'json', 'yaml'] as const

/** Commands with their own formats. */
const OF_THEIR_OWN = ['lint', 'map', 'propose', 'traffic']

/** Runs a command with a connection, and closes it afterwards. */
export const withServer = async (command: Command, run: (settings: Settings) => Promise<void>): Promise<void> => {
  const { server: url, namespace, context, target, ...given } = command.optsWithGlobals<Given>()
  const format = OF_THEIR_OWN.includes(command.name()) ? 'json' : outputOf(command, FORMATS)
  const server = await connect({ server: url, token: await tokenIn(given), context, target })
  try {
    await run({ namespace, format, server })
  } finally {
    server.close()
  }
}

/** A token in a file is read each time, because the kubelet renews it. */
const tokenIn = async ({ token, tokenFile }: Pick<Given, 'token' | 'tokenFile'>): Promise<string | undefined> =>
  token ?? (tokenFile === undefined ? undefined : (await readInput(tokenFile)).trim())

/** Returns the requested format, or the first one. Throws Failure for a format that the command does not have. */
export const outputOf = <T extends string>(command: Command, formats: readonly [T, ...T[]]): T => {
  const { output = formats[0] } = command.optsWithGlobals<Given>()
  const found = formats.find((format) => format === output)
  if (found === undefined) throw new Failure(`--output ${output}: expected ${formats.join(', ')}`)
  return found
}

/** The option for commands with answers that may depend on a setting of istiod, which no object shows. */
export const autoAllowWaypoint = (): Option =>
  new Option('--auto-allow-waypoint <flag>', 'PILOT_AUTO_ALLOW_WAYPOINT_POLICY of istiod').choices(['true', 'false'])

/** Parses a whole number. For an invalid one commander names the option, and exits with 1. */
export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (given: string): number => {
    const value = Number(given)
    if (/^\d+$/.test(given) && value >= least && value <= most) return value
    const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`
    throw new InvalidArgumentError(`Expected a whole number ${range}.`)
  }

/** Parses the time to look back. For an invalid one commander names the option, and exits with 1. */
export const parseWindow = (given: string): string => {
  const parsed = Window.safeParse(given)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError(parsed.error.issues.map(({ message }) => message).join(', '))
}

/** `[namespace/]application` */
export const parseApplication = (given: string, namespace: string): Name => {
  const name = parseName(given, namespace)
  if (name.endpoint !== undefined) throw new Failure(`${given}: expected [namespace/]application, without an endpoint`)
  return name
}

/** Parses a side of a request: `[namespace/]application`, `namespace/gateway/name`, `namespace/pod/name` or `namespace/sa/account`. */
export const parseSideName = (given: string, namespace: string): string => {
  if (/^[-a-z0-9]+\/(gateway|pod|sa)\/[-.a-z0-9]+$/.test(given)) return given
  const { namespace: home, application } = parseApplication(given, namespace)
  return `${home}/${application}`
}

/** `[namespace/]application[:endpoint]` */
export const parseName = (given: string, namespace: string): Name => {
  const match = /^(?:([-a-z0-9]+)\/)?([-a-z0-9]+)(?::([-\w]+))?$/.exec(given)
  if (match === null) throw new Failure(`${given}: expected [namespace/]application[:endpoint]`)
  const [, home = namespace, application = '', endpoint] = match
  return { namespace: home, application, ...(endpoint !== undefined && { endpoint }) }
}

/** Reads each file, each YAML or JSON file of a folder, or stdin for `-`. */
export const readFiles = async (paths: readonly string[]): Promise<{ file: string; text: string }[]> => {
  const files = await Promise.all(
    paths.map(async (path) => {
      if (path === '-' || !(await stat(path).catch(() => undefined))?.isDirectory()) return [path]
      return (await readdir(path))
        .filter(isDocument)
        .toSorted()
        .map((name) => join(path, name))
    }),
  )
  return await Promise.all(files.flat().map(async (file) => ({ file, text: await readInput(file) })))
}

const isDocument = (name: string): boolean => /\.(ya?ml|json)$/.test(name)

/** Reads the text of a file, of all YAML and JSON files of a folder as documents, or of stdin for `-`. */
export const readInput = async (path: string): Promise<string> => {
  if (path === '-') return await text(process.stdin)
  try {
    if (!(await stat(path)).isDirectory()) return await readText(path)
    const names = (await readdir(path)).filter(isDocument).toSorted()
    return (await Promise.all(names.map((name) => readText(join(path, name))))).join('\n---\n')
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${(error as Error).message}`, 1, { cause: error })
  }
}

/** Removes the byte order mark, which would count as text behind another file. */
const readText = async (path: string): Promise<string> => (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
