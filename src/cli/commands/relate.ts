import type { Command } from 'commander'
import type { ApplicationView } from '../../http/applications.ts'
import { Failure } from '../failure.ts'
import { type Name, parseName, type Settings, wholeNumber, withServer } from '../options.ts'
import { send } from '../send.ts'

type Options = { id?: number; interface?: string; role?: 'provides' | 'requires'; dryRun?: true }

const INTERFACES: ReadonlyMap<string, string> = new Map([
  ['service-mesh', 'service_mesh'],
  ['provide-cmr-mesh', 'cross_model_mesh'],
  ['require-cmr-mesh', 'cross_model_mesh'],
])

export const relate = (program: Command): void => {
  program
    .command('relate')
    .summary('relate two applications')
    .description(
      'Relates two applications. The first one provides its endpoint to the second; to a beacon an application is related as its consumer.',
    )
    .argument('<application>', '[namespace/]application[:endpoint]')
    .argument('<remote>', '[namespace/]application[:endpoint]')
    .option('--interface <name>', 'the interface (default: by the endpoint, else http)')
    .option('--role <role>', 'provides or requires, of the first one (default: provides)')
    .option(
      '--id <number>',
      'the id of the relation (default: that of the same relation, else the next one)',
      wholeNumber(0),
    )
    .option('--dry-run', 'print what would happen, and do nothing; exit code 2 when access would be lost')
    .addHelpText(
      'after',
      '\nExample:\n  meshstep -n bookinfo relate details:details productpage\n  meshstep -n bookinfo relate details beacon',
    )
    .action((first: string, second: string, options: Options, command: Command) =>
      withServer(command, async (settings) => {
        const [own, remote] = [parseName(first, settings.namespace), parseName(second, settings.namespace)]
        const views = await settings.server.get<ApplicationView[]>(`/applications/${own.namespace}`)
        const endpoint = own.endpoint ?? endpointFor(views, own, remote)
        const name = options.interface ?? INTERFACES.get(endpoint) ?? 'http'
        const role = options.role ?? (name === 'service_mesh' ? 'requires' : 'provides')
        const id = options.id ?? idFor(views, own, endpoint, remote)
        await tell(settings, own, { id, endpoint, interface: name, role }, remote, options)
      }),
    )
}

const tell = (
  settings: Settings,
  { namespace, application }: Name,
  relation: { id: number; endpoint: string; interface: string; role: string },
  remote: Name,
  { dryRun = false }: { dryRun?: boolean },
): Promise<void> => {
  const elsewhere = remote.namespace === namespace ? {} : { namespace: remote.namespace }
  const endpoint = remote.endpoint === undefined ? {} : { endpoint: remote.endpoint }
  const data = { relation, remote: { application: remote.application, ...elsewhere, ...endpoint, data: {} } }
  return send(settings, { type: 'relation-changed', subject: `${namespace}/${application}`, data }, dryRun)
}

const endpointFor = (views: readonly ApplicationView[], own: Name, remote: Name): string => {
  const isBeacon = views.some(
    ({ application, config }) => application === remote.application && config?.mesh !== undefined,
  )
  if (isBeacon) return 'service-mesh'
  throw new Failure(`${own.application}: which endpoint of it? Say ${own.application}:ENDPOINT`)
}

/** The relation that is there already, or the next number that none of the namespace has. */
const idFor = (views: readonly ApplicationView[], own: Name, endpoint: string, remote: Name): number => {
  const all = views.flatMap(({ application, relations = [] }) => relations.map((one) => ({ application, ...one })))
  const same = all.find(
    (one) =>
      one.stands &&
      one.application === own.application &&
      one.endpoint === endpoint &&
      one.remote === `${remote.namespace}/${remote.application}`,
  )
  return same?.id ?? Math.max(0, ...all.map(({ id }) => id)) + 1
}
