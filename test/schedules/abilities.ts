import { BEACONS, CONFIGS, OTHER_SERVICE, type Variant } from './fixture.ts'
import type { Random } from './random.ts'

const ANYWHERE = ['waypoint', 'mesh taken out', 'hardened', 'model on mesh', 'second beacon'] as const

/** What a history may have beside one beacon and configs that stay; each is off in many, so that small races stay small. */
const ABILITIES = {
  mesh: [...ANYWHERE, 'own labels', 'policies', 'other models'],
  chain: [...ANYWHERE, 'workers'],
} as const

export type Ability = (typeof ABILITIES)[Variant][number]

/** What a survey calls each. */
export const ABILITY_TRAITS: Readonly<Record<Ability, string>> = {
  waypoint: 'waypoint comes and goes',
  'mesh taken out': 'mesh taken out of the config',
  hardened: 'mesh hardened at times',
  'model on mesh': 'namespace on the mesh at times',
  'own labels': 'labels of its own',
  policies: 'policies change',
  'second beacon': 'a second beacon',
  workers: 'several workers and coordinators',
  'other models': 'clients of another namespace, one by an alias',
}

export const drawAbilities = (random: Random, variant: Variant): ReadonlySet<Ability> => {
  const [one, other] = random.shuffle<Ability>(ABILITIES[variant])
  const count = random.pick([0, 0, 0, 1, 1, 2])
  return new Set([one, other].slice(0, count).filter((ability) => ability !== undefined))
}

const app = (...endpoints: readonly Record<string, unknown>[]) => ({ type: 'app', relation: 'details', endpoints })
const unit = { type: 'unit', relation: 'details', ports: [9080] }
const READ = { ports: [9080], methods: ['GET'] }

/** Narrower and wider ones, for the Service, for the pods, or for both, none, and those that follow from the relations. */
const POLICIES: readonly ('related' | readonly Record<string, unknown>[])[] = [
  'related',
  [app(READ)],
  [app({ ...READ, paths: ['/health'] })],
  [app()],
  [app(READ, { methods: ['POST'] }), unit],
  [unit],
  [],
  [app(READ), { ...app(READ), service: OTHER_SERVICE }],
]

const WAYPOINTS = [{}, { waypoint: false }, { units: 0 }]

/** Whether policies of a config are for another Service. */
export const namesOtherService = (config: Record<string, unknown> = {}): boolean =>
  Array.isArray(config.policies) &&
  config.policies.some(({ service }: { service?: string }) => service === OTHER_SERVICE)

const LABELS = [{}, { team: 'books' }, { team: 'shop', tier: 'api' }]

/** Configs of a history in which the beacon's waypoint comes and goes: at the Service and at the pods the same clients are let in. */
export const SWITCHED: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  beacon: WAYPOINTS.map((mesh) => ({ ...CONFIGS.beacon, mesh })),
  details: [{ policies: [app(READ), unit] }],
}

/** Of two beacons only one labels the namespace: the other one would be refused. */
const drawMesh = (random: Random, abilities: ReadonlySet<Ability>, beacon: string): Record<string, unknown> => ({
  ...(abilities.has('waypoint') && random.pick(WAYPOINTS)),
  ...(abilities.has('hardened') && random.pick([{}, { hardened: true }])),
  ...(abilities.has('model on mesh') && beacon === 'beacon' && random.pick([{}, { modelOnMesh: true }])),
})

/** A config that the application may have; undefined for the one that it always has. */
export const drawConfig = (
  random: Random,
  abilities: ReadonlySet<Ability>,
  side: string,
): Record<string, unknown> | undefined => {
  if (BEACONS.some((beacon) => beacon === side)) {
    const mesh = drawMesh(random, abilities, side)
    const { mesh: _, ...others } = CONFIGS[side] ?? {}
    const isOut = abilities.has('mesh taken out') && random.chance(0.4)
    return { ...others, ...(!isOut && { mesh }) }
  }
  if (side !== 'details') return undefined
  return {
    ...(abilities.has('waypoint') ? SWITCHED.details?.[0] : CONFIGS.details),
    ...(abilities.has('policies') && { policies: random.pick(POLICIES) }),
    ...(abilities.has('own labels') && { labels: random.pick(LABELS) }),
  }
}
