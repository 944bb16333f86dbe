import { at } from '../record.ts'
import type { CoordinatorConfig } from './config.ts'

/** What an application reports of itself. */
export type Status = { readonly status: 'active' | 'waiting' | 'blocked'; readonly message: string }

/** `roles` with each meta role replaced by what it stands for, once each, sorted. */
export const expandRoles = (roles: readonly string[], { metaRoles }: CoordinatorConfig): string[] =>
  [...new Set(roles.flatMap((role) => at(metaRoles, role) ?? [role]))].toSorted()

/** The roles that the cluster does not work without and that no unit has. `present` counts the units of each role. */
export const missingRoles = (config: CoordinatorConfig, present: Readonly<Record<string, number>>): string[] =>
  expandRoles(config.minimalDeployment ?? [], config).filter((role) => (at(present, role) ?? 0) === 0)

/** Whether a coordinator has what it needs, in the charm library's words. */
export const coordinatorStatus = (hasWorkers: boolean, missing: readonly string[]): Status => {
  if (!hasWorkers) return { status: 'blocked', message: '[consistency] Missing any worker relation.' }
  if (missing.length === 0) return { status: 'active', message: '' }
  return { status: 'blocked', message: `[consistency] Cluster inconsistent. Missing roles: ${missing.join(', ')}.` }
}

/** How far a worker came: what it is related to, whether that told anything, and whether a config. */
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

/** What a worker lacks, in the charm library's words; of several things the worst, which are those that somebody has to do. */
export const workerStatus = ({ application, roles, relation }: WorkerProgress): Status => {
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
