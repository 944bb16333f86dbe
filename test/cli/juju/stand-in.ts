/** An application, with the numbers of its units. The first one leads. */
export type App = {
  charm: string
  revision: number
  units: number[]
  life?: 'dying'
  /** The options of the charm, and their values. */
  options?: Record<string, string | null>
}

/** A side of a relation, and what it publishes there. */
export type End = {
  application: string
  endpoint: string
  data?: Record<string, string>
  /** What each unit publishes. */
  units?: Record<string, Record<string, string>>
}

export type Rel = { id: number; provider: End; requirer: End; interface: string; status?: string }

/** A relation to another model, as this model has it. `alias` is what it calls the peer. */
export type CrossRel = {
  id: number
  application: string
  endpoint: string
  alias: string
  other: string
  /** What the peer publishes. */
  data?: Record<string, string>
  /** The model that consumes the offer, on the side that offers it. */
  from?: string
}

export type OfferOf = { application: string; endpoint: string; interface: string; role: 'provider' | 'requirer' }

export type StandInModel = {
  uuid: string
  type: 'caas' | 'iaas'
  applications: Record<string, App>
  relations: Rel[]
  crossRelations: CrossRel[]
  offers: Record<string, OfferOf>
  /** Consumed offers, by alias. */
  saas: Record<string, OfferOf & { url: string }>
}

/** What a client of Juju finds: a controller with models, or none. */
export type World = {
  controller: string
  version: string
  models: Record<string, StandInModel>
  isRegistered: boolean
  isUp: boolean
  isLoggedIn: boolean
  /** Answers in place of a command, by its first word. */
  instead: Record<string, Answer | undefined>
}

export type Answer = { code: number; stdout: string; stderr: string }

export const emptyModel = (uuid: string, type: StandInModel['type'] = 'caas'): StandInModel => ({
  ...{ uuid, type, applications: {}, relations: [], crossRelations: [], offers: {}, saas: {} },
})

/** An application of one unit. */
export const app = (charm: string, revision = 1): App => ({ charm, revision, units: [0] })

/** Finds an application of a model. */
export const appOf = ({ applications }: StandInModel, name: string): App => {
  const found = applications[name]
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found
}

export const createStandIn = (
  models: Record<string, StandInModel>,
  { version = '3.6.4' }: { version?: string } = {},
): World => ({
  ...{ controller: 'mk8scloud', version, models, isRegistered: true, isUp: true, isLoggedIn: true, instead: {} },
})

const refusal = (message: string): Answer => ({ code: 1, stdout: '', stderr: `ERROR ${message}\n` })
const json = (value: unknown): Answer => ({ code: 0, stdout: JSON.stringify(value), stderr: '' })

/** What `juju status` prints of a model, in place of what it has. */
export const statusWith = (name: string, applications: object): Answer =>
  json({ model: { name, type: 'caas', version: '3.6.4', controller: 'mk8scloud' }, applications })

const isFour = ({ version }: World): boolean => version.startsWith('4.')

/** Juju 4 showed none of the other side until 4.0.5. */
const showsOthers = ({ version }: World): boolean => !/^4\.0\.[0-5]$/.test(version)

/** Since 3.1.3 the related applications have their interface. */
const namesInterfaces = ({ version }: World): boolean => !/^(2\.|3\.0\.|3\.1\.[0-2]$|3\.2\.0$)/.test(version)

/** Answers of a model, by command. */
const COMMANDS: Readonly<Record<string, (asked: Asked) => Answer>> = {
  status: ({ world, name, model, flags }) =>
    flags.includes('--format=json')
      ? json(statusOf(world, name, model))
      : { code: 0, stdout: tableOf(world, name, model), stderr: '' },
  'show-unit': ({ world, model, names }) => showUnits(world, model, names),
  offers: ({ world, name, model }) => json(offersOf(world, name, model)),
  config: ({ model, names }) => configOf(model, names[0] ?? ''),
}

type Asked = { world: World; name: string; model: StandInModel; names: readonly string[]; flags: readonly string[] }

/** Answers as `juju` does, and refuses what it refuses. */
export const answer = (world: World, [command = '', ...args]: readonly string[]): Answer => {
  const flags = args.filter((one) => one.startsWith('-'))
  const refused = misusedBy(command, flags) ?? refusedFor(world, flags)
  if (refused !== undefined) return refused
  const instead = world.instead[command]
  if (instead !== undefined) return instead
  if (command === 'models') return json(modelsOf(world))
  if (command === 'show-model') return showModel(world, args.filter((one) => !one.startsWith('-'))[0] ?? '')
  const asked = flags.flatMap((one) => /^--model=(.*)$/.exec(one)?.[1] ?? [])[0]
  if (asked === undefined)
    return refusal(
      'No selected model.\n\nOnly the controller model exists. Use "juju add-model" to create an initial model.',
    )
  const name = shortName(asked)
  const model = world.models[name]
  if (model === undefined) return refusal(`model ${world.controller}:admin/${name} not found`)
  const names = args.filter((one) => !one.startsWith('-'))
  return COMMANDS[command]?.({ world, name, model, names, flags }) ?? refusal('not a command')
}

const misusedBy = (command: string, flags: readonly string[]): Answer | undefined => {
  if (!['models', 'show-model'].includes(command) && COMMANDS[command] === undefined)
    return { code: 2, stdout: '', stderr: `ERROR juju: "${command}" is not a juju command. See "juju --help".\n` }
  const known = /^--(format=json|relations|no-browser-login|model=.+|controller=.+)$/
  const unknown = flags.find((one) => !known.test(one) || (command === 'show-model' && one.startsWith('--model')))
  return unknown === undefined
    ? undefined
    : { code: 2, stdout: '', stderr: `ERROR option provided but not defined: ${unknown}\n` }
}

const refusedFor = (world: World, flags: readonly string[]): Answer | undefined => {
  if (!world.isRegistered)
    return refusal(
      'No controllers registered.\n\nPlease either create a new controller using "juju bootstrap" or connect to\nanother controller that you have been given access to using "juju register".',
    )
  const [controller] = flags.flatMap((one) => /^--(?:controller=|model=)([^:/]+)(?=:|$)/.exec(one)?.[1] ?? [])
  const isNamed = flags.some((one) => /^--(controller=|model=[^:]+:)/.test(one))
  if (isNamed && controller !== world.controller) return refusal(`controller ${controller} not found`)
  if (!world.isUp)
    return refusal(
      'opening API connection: unable to connect to API: dial tcp 10.152.183.9:17070: connect: connection refused',
    )
  return world.isLoggedIn ? undefined : refusal('invalid entity name or password (unauthorized access)')
}

const shortName = (model: string): string => model.replace(/^.*[:/]/, '')

const modelsOf = ({ models, controller }: World) => ({
  models: Object.entries(models).map(([name, { uuid, type }]) => ({
    ...{
      name: `admin/${name}`,
      'short-name': name,
      'model-uuid': uuid,
      'model-type': type,
      'controller-name': controller,
    },
  })),
  'current-model': '',
})

/** Names the model by its place in the command, as there is no flag for it. */
const showModel = ({ models, controller }: World, asked: string): Answer => {
  const name = shortName(asked)
  const model = models[name]
  if (model === undefined) return refusal(`model ${controller}:admin/${name} not found`)
  const shown = { name: `admin/${name}`, 'short-name': name, 'model-uuid': model.uuid, 'controller-name': controller }
  return json({ [name]: { ...shown, 'model-type': model.type, life: 'alive' } })
}

const offersOf = ({ controller }: World, name: string, model: StandInModel) =>
  Object.fromEntries(
    Object.entries(model.offers).map(([offer, { application, endpoint, interface: kind, role }]) => [
      offer,
      {
        application,
        store: controller,
        'offer-url': `admin/${name}.${offer}`,
        endpoints: { [endpoint]: { interface: kind, role } },
        connections: model.crossRelations
          .filter((one) => one.application === application && one.endpoint === endpoint && one.from !== undefined)
          .map(({ id, from }) => ({
            ...{ 'source-model-uuid': from, username: 'admin', 'relation-id': id, endpoint },
            status: { current: 'joined', since: '1 hour ago' },
          })),
      },
    ]),
  )

const sides = ({ provider, requirer }: Rel): [End, End][] =>
  provider.application === requirer.application && provider.endpoint === requirer.endpoint
    ? [[provider, requirer]]
    : [
        [provider, requirer],
        [requirer, provider],
      ]

/** The related applications of each endpoint, each once. On the side of an offer Juju names no consumer. */
const relatedOf = (world: World, model: StandInModel, name: string) => {
  const all = [
    ...model.relations.flatMap((one) =>
      sides(one).map(([own, peer]) => ({ own, peer: peer.application, kind: one.interface })),
    ),
    ...model.crossRelations
      .filter(({ from }) => from === undefined)
      .map(({ application, endpoint, alias }) => ({
        own: { application, endpoint },
        peer: alias,
        kind: model.saas[alias]?.interface ?? '',
      })),
  ].filter(({ own }) => own.application === name)
  const byEndpoint = Map.groupBy(all, ({ own }) => own.endpoint)
  return Object.fromEntries(
    [...byEndpoint].map(([endpoint, found]) => {
      const once = [...new Map(found.map((one) => [one.peer, one])).values()].toSorted((a, b) =>
        a.peer < b.peer ? -1 : 1,
      )
      return [
        endpoint,
        once.map(({ peer, kind }) =>
          namesInterfaces(world) ? { 'related-application': peer, interface: kind, scope: 'global' } : peer,
        ),
      ]
    }),
  )
}

const statusOf = (world: World, name: string, model: StandInModel) => ({
  model: {
    ...{ name, type: model.type, controller: world.controller, cloud: 'microk8s', version: world.version },
    ...(!isFour(world) && { sla: 'unsupported' }),
  },
  machines: {},
  applications: Object.fromEntries(
    Object.entries(model.applications).map(([application, { charm, revision, units, life }]) => {
      const relations = relatedOf(world, model, application)
      return [
        application,
        {
          ...{ charm, 'charm-name': charm, 'charm-rev': revision, scale: units.length, exposed: false },
          ...(life !== undefined ? { life } : isFour(world) && { life: 'alive' }),
          ...(Object.keys(relations).length > 0 && { relations }),
          ...(units.length > 0 && {
            units: Object.fromEntries(
              units.map((unit, at) => [`${application}/${unit}`, { ...(at === 0 && { leader: true }) }]),
            ),
          }),
        },
      ]
    }),
  ),
  ...(Object.keys(model.saas).length > 0 && {
    'application-endpoints': Object.fromEntries(
      Object.entries(model.saas).map(([alias, { url, endpoint, interface: kind, role }]) => {
        const consumers = model.crossRelations
          .filter((one) => one.alias === alias)
          .map(({ application }) => application)
        return [
          alias,
          {
            url,
            endpoints: { [endpoint]: { interface: kind, role } },
            'application-status': { current: 'active' },
            ...(consumers.length > 0 && { relations: { [endpoint]: consumers } }),
          },
        ]
      }),
    ),
  }),
  ...(Object.keys(model.offers).length > 0 && {
    offers: Object.fromEntries(
      Object.entries(model.offers).map(([offer, { application, endpoint, interface: kind, role }]) => [
        offer,
        {
          application,
          charm: model.applications[application]?.charm,
          endpoints: { [endpoint]: { interface: kind, role } },
        },
      ]),
    ),
  }),
  controller: { timestamp: '17:00:33+13:00' },
})

/** The table, with the columns that matter; those of units are left out. */
const tableOf = (world: World, name: string, model: StandInModel): string => {
  const rows = [
    ...model.relations.map(({ provider, requirer, interface: kind, status = '' }) => [
      `${provider.application}:${provider.endpoint}`,
      `${requirer.application}:${requirer.endpoint}`,
      kind,
      provider.application === requirer.application ? 'peer' : 'regular',
      status,
    ]),
    ...model.crossRelations
      .filter(({ from }) => from === undefined)
      .map(({ application, endpoint, alias, other }) => {
        const { interface: kind = '', role } = model.saas[alias] ?? {}
        const [here, there] = [`${application}:${endpoint}`, `${alias}:${other}`]
        return role === 'provider' ? [there, here, kind, 'regular', ''] : [here, there, kind, 'regular', '']
      }),
  ].toSorted((one, other) => (`${one[0]} ${one[1]}` < `${other[0]} ${other[1]}` ? -1 : 1))
  const first = namesInterfaces(world) ? 'Integration provider' : 'Relation provider'
  const table = [[first, 'Requirer', 'Interface', 'Type', 'Message'], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return [
    'Model     Controller  Cloud/Region  Version',
    `${name}  ${world.controller}  microk8s/localhost  ${world.version}`,
    '',
    'App  Version  Status  Scale  Charm',
    ...Object.entries(model.applications).map(
      ([app, { charm, units }]) => `${app}  1  active  ${units.length}  ${charm}`,
    ),
    ...(rows.length > 0 ? ['', ...lines] : []),
    '',
  ].join('\n')
}

const ADDRESS = { 'egress-subnets': '10.152.183.199/32', 'ingress-address': '10.152.183.199' }

const showUnits = (world: World, model: StandInModel, units: readonly string[]): Answer => {
  if (units.length === 0) return refusal('an unit name must be supplied')
  const missing = units.filter((unit) => !unitsOf(model, unit.split('/')[0] ?? '').includes(unit))
  if (missing.length > 0) return refusal(missing.map((unit) => `unit "${unit}" not found`).join('\n'))
  return json(Object.fromEntries(units.map((unit) => [unit, unitOf(world, model, unit)])))
}

const configOf = ({ applications }: StandInModel, name: string): Answer => {
  const found = applications[name]
  if (found === undefined) return refusal(`application "${name}" not found`)
  const settings = Object.entries(found.options ?? {}).map(([option, value]) => [
    option,
    { type: 'string', ...(value === null ? { source: 'unset' } : { source: 'user', value }) },
  ])
  return json({ application: name, charm: found.charm, settings: Object.fromEntries(settings) })
}

const unitsOf = ({ applications }: StandInModel, name: string): string[] =>
  (applications[name]?.units ?? []).map((unit) => `${name}/${unit}`)

const unitOf = (world: World, model: StandInModel, unit: string) => {
  const [name = ''] = unit.split('/')
  const local = model.relations.flatMap((one) =>
    sides(one)
      .filter(([own]) => own.application === name)
      .map(([own, peer]) => infoOf(world, model, one, own, peer, unit)),
  )
  const across = model.crossRelations
    .filter(({ application }) => application === name)
    .map(({ id, endpoint, alias, other, data = {} }) => ({
      ...{ 'relation-id': id, endpoint, 'cross-model': true, 'related-endpoint': other },
      'application-data': isFour(world) ? {} : data,
      'related-units': { [`${alias}/0`]: { 'in-scope': true, data: ADDRESS } },
    }))
  return {
    ...{ 'opened-ports': [], charm: `ch:${name}`, leader: unitsOf(model, name)[0] === unit, life: 'alive' },
    'relation-info': [...local, ...across],
    'provider-id': unit.replace('/', '-'),
  }
}

/** Juju 3 shows what the peer publishes, and its units. Juju 4 shows what the own side publishes. */
const infoOf = (world: World, model: StandInModel, { id }: Rel, own: End, peer: End, unit: string) => {
  const isPeer = own.application === peer.application
  const others = unitsOf(model, peer.application).filter((one) => one !== unit)
  const ownData = isFour(world) ? own.data : isPeer ? {} : peer.data
  const dataOf = (one: string, { units = {} }: End) => ({ 'in-scope': true, data: { ...ADDRESS, ...units[one] } })
  return {
    ...{ 'relation-id': id, endpoint: own.endpoint, 'related-endpoint': peer.endpoint },
    'application-data': ownData ?? {},
    'local-unit': isPeer || !showsOthers(world) ? dataOf(unit, own) : { 'in-scope': false, data: null },
    ...(showsOthers(world) &&
      others.length > 0 && { 'related-units': Object.fromEntries(others.map((one) => [one, dataOf(one, peer)])) }),
  }
}
