import { ownValue } from '../../platform/base/own-value.ts'
import type { CoordinatorConfig } from './config.ts'

/** The status that a coordinator or worker reports. */
export type ClusterStatus = { readonly status: 'active' | 'waiting' | 'blocked'; readonly message: string }

/** Expands meta roles. Each role appears once, in order. */
export const expandRoles = (roles: readonly string[], { metaRoles }: CoordinatorConfig): string[] =>
  [...new Set(roles.flatMap((role) => ownValue(metaRoles, role) ?? [role]))].toSorted()

type Counts = Readonly<Record<string, number>>

const countUnits = (present: Counts, role: string): number => ownValue(present, role) ?? 0

/**
 * Lists the required roles with too few units. Each role of the minimal deployment needs one unit, and `units` may require more. `present` counts the
 * units of each role.
 */
export const missingRoles = (config: CoordinatorConfig, present: Counts): string[] => {
  const { minimalDeployment = [], units = {} } = config
  const needed = [...minimalDeployment, ...Object.keys(units).filter((role) => (units[role]?.minimum ?? 0) > 0)]
  return expandRoles(needed, config).filter((role) => countUnits(present, role) < requiredUnits(config, role))
}

/** Returns the required units of a role, at least one. A meta role requires its number of each of its roles. */
const requiredUnits = ({ units, metaRoles }: CoordinatorConfig, role: string): number => {
  const metas = Object.keys(metaRoles ?? {}).filter((meta) => ownValue(metaRoles, meta)?.includes(role))
  return Math.max(1, ...[role, ...metas].map((one) => ownValue(units, one)?.minimum ?? 0))
}

/** The roles with fewer units than recommended, and those with too many. */
type Advice = { readonly scarce: readonly string[]; readonly superfluous: readonly string[] }

const adviseOn = (config: CoordinatorConfig, present: Counts): Advice => {
  const rules = Object.entries(config.units ?? {})
    .flatMap(([name, rule]) =>
      expandRoles([name], config).map((role) => ({ role, rule, count: countUnits(present, role) })),
    )
    .toSorted((one, other) => (one.role < other.role ? -1 : 1))
  return {
    scarce: rules.flatMap(({ role, rule: { recommended = 0 }, count }) =>
      count < recommended ? [`${role} (${count} of ${recommended})`] : [],
    ),
    superfluous: rules.flatMap(({ role, count, rule: { maximum = count } }) =>
      count > maximum ? [`${role} (${count}, at most ${maximum})`] : [],
    ),
  }
}

const lack = (role: string, config: CoordinatorConfig, present: Counts): string => {
  const minimum = requiredUnits(config, role)
  return minimum === 1 ? role : `${role} (${countUnits(present, role)} of ${minimum})`
}

/** Returns the coordinator's status in the charm library's words, with additional advice. */
export const coordinatorStatus = (config: CoordinatorConfig, hasWorkers: boolean, present: Counts): ClusterStatus => {
  if (!hasWorkers) return { status: 'blocked', message: '[consistency] Missing any worker relation.' }
  const missing = missingRoles(config, present)
  const { scarce, superfluous } = adviseOn(config, present)
  const parts = [
    ...(missing.length > 0
      ? [`Cluster inconsistent. Missing roles: ${missing.map((role) => lack(role, config, present)).join(', ')}.`]
      : []),
    ...(missing.length === 0 && scarce.length > 0 ? [`Degraded. Recommended: ${scarce.join(', ')}.`] : []),
    ...(superfluous.length > 0 ? [`Superfluous roles: ${superfluous.join(', ')}.`] : []),
  ]
  const message = parts.length > 0 ? `[consistency] ${parts.join(' ')}` : ''
  return { status: missing.length > 0 ? 'blocked' : 'active', message }
}

/** The state of a worker's relation: missing, silent, without a config, or configured. */
export type WorkerProgress = {
  readonly application: string
  readonly roles: readonly string[]
  readonly relation: 'missing' | 'silent' | 'without config' | 'configured'
}

const WAITING_FOR = {
  missing: { status: 'blocked', message: 'Missing relation to a coordinator charm' },
  silent: { status: 'waiting', message: 'Cluster relation not ready' },
  'without config': { status: 'waiting', message: 'Waiting for coordinator to publish a config' },
} as const

/** Returns the worker's status in the charm library's words. It is the most severe problem, and problems for a person come first. */
export const workerStatus = ({ application, roles, relation }: WorkerProgress): ClusterStatus => {
  if (relation === 'missing') return WAITING_FOR.missing
  if (roles.length === 0)
    return {
      status: 'blocked',
      message: `Node offline: no role assigned. Please configure this worker to enable a role. For example: 'juju config ${application} role-all=true'.`,
    }
  if (relation !== 'configured') return WAITING_FOR[relation]
  const names = roles.join(',')
  return { status: 'active', message: names === 'all' ? '(all roles) ready.' : `${names} ready.` }
}
