import { type Command, InvalidArgumentError, Option } from 'commander'
import type * as z from 'zod'
import { Window } from '../ask/traffic/window.ts'
import type { Name } from '../serve/page/relating.ts'
import { Failure } from './failure.ts'
import { readInput } from './input.ts'
import type { Format } from './output.ts'
import { type Cluster, connect, namespaceOf, type Server } from './server.ts'

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
  headers: boolean
  token?: string
  tokenFile?: string
  kubeconfig?: string
  context?: string
  target: string
}

const KINDS = ['table', 'wide', 'name', 'json', 'yaml'] as const

/** Commands with their own formats. */
const OF_THEIR_OWN = ['lint', 'map', 'propose', 'traffic']

/** Commands that only ask: a cluster without the functions answers them as well. */
const QUESTIONS = ['get', 'wait', 'explain', 'plan', 'lint', 'expect', 'map', 'traffic', 'propose', '__complete']

const ALL = ['server', 'namespace', 'output', 'headers', 'token', 'tokenFile', 'kubeconfig', 'context', 'target']

/** Options of the program that a command does not take, by its name. */
const NOT_TAKEN: ReadonlyMap<string, readonly string[]> = new Map([
  ['start', ALL],
  ['completion', ALL],
  ['check', ['server', 'token', 'tokenFile', 'target']],
  ['record', ['namespace', 'output', 'headers']],
  ['replay', ['namespace']],
  ['wait', ['output', 'headers']],
  ['resend', ['namespace']],
  // a model has its own namespace
  ['juju', ['namespace']],
])

/** Lists the options of the program that a command takes. */
export const programOptions = (command: Command): Option[] => {
  const left = ['version', ...(NOT_TAKEN.get(command.name()) ?? [])]
  return (command.parent?.options ?? []).filter((option) => !left.includes(option.attributeName()))
}

/** Runs a command with a connection, and closes it afterwards. */
export const withServer = async <T>(command: Command, run: (settings: Settings) => Promise<T>): Promise<T> => {
  const { server: url, target, ...given } = command.optsWithGlobals<Given>()
  const format = OF_THEIR_OWN.includes(command.name()) ? JSON_FORMAT : formatOf(command)
  const cluster = clusterOf(command)
  const namespace = cluster === undefined ? given.namespace || 'default' : await namespaceIn(command, cluster)
  const server = await connect({
    ...{ server: url, token: await tokenIn(given), target },
    cluster: cluster && { ...cluster, isQuestion: QUESTIONS.includes(command.name()) },
  })
  try {
    return await run({ namespace, format, server })
  } finally {
    server.close()
  }
}

const JSON_FORMAT: Format = { kind: 'json', hasHeaders: true }

/**
 * Returns the cluster that is meant, where it is one: of the context or the kubeconfig named, or of the current context, as a plugin of kubectl for which no
 * server is named.
 */
export const clusterOf = (command: Command): Cluster | undefined => {
  const { context, kubeconfig } = command.optsWithGlobals<Given>()
  if (command.getOptionValueSourceWithGlobals('server') === 'cli' && (context ?? kubeconfig) !== undefined)
    throw new Failure('--server, and --context or --kubeconfig: expected one of them')
  const isOfKubectl = isPlugin() && command.getOptionValueSourceWithGlobals('server') === 'default'
  return context !== undefined || kubeconfig !== undefined || isOfKubectl ? { context, kubeconfig } : undefined
}

/** Returns the namespace that is named, or else that of the context. */
export const namespaceIn = async (command: Command, cluster: Cluster): Promise<string> => {
  const { namespace } = command.optsWithGlobals<Given>()
  const isNamed = namespace !== '' && command.getOptionValueSourceWithGlobals('namespace') !== 'default'
  return isNamed ? namespace : await namespaceOf(cluster)
}

/** Tells if kubectl has run the command as its plugin. */
const isPlugin = (): boolean => process.env.MESHSTEP_NAME?.startsWith('kubectl') === true

/** A token in a file is read each time, because the kubelet renews it. */
const tokenIn = async ({ token, tokenFile }: Pick<Given, 'token' | 'tokenFile'>): Promise<string | undefined> =>
  token ?? (tokenFile === undefined ? undefined : (await readInput(tokenFile)).trim())

/** Returns the requested format: one of the command's `own`, or one that every command has. Throws Failure for another one. */
export const formatOf = <T extends string = never>(command: Command, own: readonly T[] = []): Format | T => {
  const { output: given = 'table', headers } = command.optsWithGlobals<Given>()
  // kubectl takes -o=json as well
  const output = given.replace(/^=/, '')
  const found = own.find((one) => one === output)
  if (found !== undefined) return found
  const template = /^jsonpath=(.*)$/s.exec(output)?.[1]
  const kind = template === undefined ? KINDS.find((one) => one === output) : 'jsonpath'
  if (kind === undefined)
    throw new Failure(`--output ${output}: expected ${[...KINDS, 'jsonpath=TEMPLATE', ...own].join(', ')}`)
  return { kind, template, hasHeaders: headers }
}

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

/** Parses a time to milliseconds. For an invalid one commander names the option, and exits with 1. */
export const parseDuration = (given: string): number => {
  const [, number, unit = 's'] = /^(\d+)(s|m)?$/.exec(given) ?? []
  const seconds = Number(number) * (unit === 'm' ? 60 : 1)
  if (seconds >= 1) return seconds * 1_000
  throw new InvalidArgumentError('Expected a time such as 30s or 5m.')
}

/** Parses the address of a server. For an invalid one commander names the option, or its variable, and exits with 1. */
export const parseAddress = (given: string): string => {
  const { protocol = '', username, password } = URL.parse(given) ?? {}
  const meant = given.includes('://') ? '' : `, such as http://${given}`
  if (!/^https?:$/.test(protocol)) throw new InvalidArgumentError(`Expected a URL with http or https${meant}.`)
  if (username || password) throw new InvalidArgumentError('Expected a URL without a user and a password.')
  return given
}

/** Creates a parser for what a schema takes. For anything else commander names the option, and exits with 1. */
export const parserOf =
  <T>(schema: z.ZodType<T>) =>
  (given: string): T => {
    const parsed = schema.safeParse(given)
    if (parsed.success) return parsed.data
    throw new InvalidArgumentError(parsed.error.issues.map(({ message }) => message).join(', '))
  }

/** The option for the time to look back. */
export const windowOption = (usual: string): Option =>
  new Option('--window <duration>', 'the time to look back, from 1m to 7d').argParser(parserOf(Window)).default(usual)

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
