import * as z from 'zod'
import { Port } from '../../core/policies/endpoint.ts'
import { RELATED } from '../../core/policies/models.ts'
import { readValue } from '../../core/relations/databags/databag.ts'
import { readOrLast } from '../../core/relations/databags/last-readable.ts'
import { DEFAULT_POLICIES_KEY } from '../../core/relations/databags/policies-databag.ts'
import { readScrapeJobs, SCRAPE, SCRAPE_JOBS } from '../../core/relations/databags/scrape-jobs.ts'
import { isOfMesh } from '../../core/state/interfaces.ts'
import { type Relation, type RelationIdentity, relationName, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { labelledService } from '../../core/workload/label-targets.ts'
import { joinAnd, printValue } from '../../platform/base/printed.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { AskedPolicy } from './request-policies.ts'

/**
 * Tells if the policies follow from the relations: by `policies: related` in the config or, if it has no policies, in that of the beacon. A config that
 * was lost may have had policies, so the default does not count until it is known again.
 */
export const isRelated = ({ config, relations, lost }: EffectiveState): boolean => {
  if (config?.policies !== undefined) return config.policies === RELATED
  if (config === undefined && lost !== undefined) return false
  return relationsWith(relations, { interface: 'service_mesh', role: 'requires' }).some(({ remote }) => {
    const told = readValue(remote.data, DEFAULT_POLICIES_KEY, z.literal(RELATED))
    return 'value' in told && told.value === RELATED
  })
}

type Scraped = RelationIdentity & Pick<Relation, 'ownPlatformData'>
type Related = Pick<EffectiveState, 'config'> & { readonly relations: Readonly<Record<string, Scraped>> }

/** Lists the relations in which the application provides something that its requirer may request. */
export const providedRelations = <R extends RelationIdentity>(state: {
  readonly relations: Readonly<Record<string, R>>
}): R[] => relationsWith(state.relations, { role: 'provides' }).filter((one) => !isOfMesh(one))

/**
 * Derives policies from the relations. Each requirer may use the Service on all of its ports. One that scrapes metrics may also reach the pods, on the
 * ports of its jobs. Units of the application may reach each other if they have a peer relation.
 */
export const relatedPolicies = (subject: Subject, state: Related): AskedPolicy[] => {
  const service = labelledService(subject.application, state.config ?? {})
  const provided = groupsOf(providedRelations(state)).flatMap(({ relation, only, same }): AskedPolicy[] => {
    const ports = [...new Set(same.flatMap((one) => scrapePorts(subject, one)))].toSorted((one, other) => one - other)
    return [
      ...(service === null ? [] : [{ type: 'app' as const, relation, only, endpoints: [], service }]),
      ...(ports.length === 0 ? [] : [{ type: 'unit' as const, relation, only, ports }]),
    ]
  })
  const peers = groupsOf(relationsWith(state.relations, { role: 'peers' }))
  return [...provided, ...peers.map(({ relation, only }) => ({ type: 'unit' as const, relation, only }))]
}

/** Groups relations by endpoint, interface and role. */
const groupsOf = <R extends RelationIdentity>(relations: readonly R[]) =>
  [...Map.groupBy(relations, (one) => JSON.stringify([one.endpoint, one.interface])).values()].flatMap((same) =>
    same.slice(0, 1).map(({ endpoint: relation, interface: name, role }) => ({
      ...{ relation, same },
      only: { interface: name, role },
    })),
  )

/** Reads the scrape jobs of a relation, or the last readable ones. */
const readJobs = ({ interface: name, ownPlatformData: { data = {}, lastReadable } = {} }: Scraped) =>
  name === SCRAPE ? readOrLast(data, lastReadable, SCRAPE_JOBS, readScrapeJobs) : {}

/** The targets of the scrape jobs of a relation, each with the port of pods that it names. */
const scrapeTargets = (subject: Subject, relation: Scraped): { target: string; port: number | undefined }[] => {
  return (readJobs(relation).value?.value ?? []).flatMap(({ scheme, static_configs: configs = [] }) =>
    configs
      .flatMap(({ targets = [] }) => targets)
      .map((target) => ({ target, port: portOf(subject, target, scheme === 'https' ? 443 : 80) })),
  )
}

/** Lists the ports of pods that the scrape jobs of a relation name. */
const scrapePorts = (subject: Subject, relation: Scraped): number[] =>
  scrapeTargets(subject, relation).flatMap(({ port }) => port ?? [])

/** A target of a scrape job: a host, and a port where it is not that of the scheme. */
const TARGET = /^(?<host>[^:/]+)(?::(?<port>\d{1,5}))?$/

/** Returns the port of a target in pods of the application: `*`, or the name of a unit. */
const portOf = ({ application }: Subject, target: string, byScheme: number): number | undefined => {
  const { host = '', port = byScheme } = TARGET.exec(target)?.groups ?? {}
  const [first = ''] = host.split('.')
  const isOwn =
    host === '*' || (first.startsWith(`${application}-`) && /^\d+$/.test(first.slice(application.length + 1)))
  return isOwn && Port.safeParse(port).success ? Number(port) : undefined
}

/** Names the scrape jobs that open no port of pods: those that cannot be read, and targets that are neither pods of the application nor its Service. */
export const unservedJobs = (subject: Subject, state: EffectiveState): string[] =>
  isRelated(state) ? providedRelations(state).flatMap((relation) => unservedIn(subject, state, relation) ?? []) : []

const unservedIn = (subject: Subject, state: EffectiveState, relation: Relation): string | undefined => {
  const { unreadable } = readJobs(relation)
  const known = scrapeTargets(subject, relation)
  if (unreadable !== undefined) {
    const ports = known.flatMap(({ port }) => port ?? [])
    const still =
      ports.length === 0 ? 'it opens no port of pods' : `the ports of before stay open: ${joinAnd(ports.map(String))}`
    return `${relationName(relation)}: ${unreadable}; ${still}`
  }
  const others = known.filter(({ target, port }) => port === undefined && !isOwnService(subject, state, target))
  return others.length === 0
    ? undefined
    : `${relationName(relation)}: ${SCRAPE_JOBS}: ${joinAnd(others.map(({ target }) => printValue(target)))} ${others.length === 1 ? 'opens' : 'open'} no port of pods: expected "*:PORT", or the DNS name of a unit of ${subject.application} with a port`
}

/** Tells if a target is the Service of the application, which whoever scrapes may use on each of its ports. */
const isOwnService = ({ namespace, application }: Subject, { config }: EffectiveState, target: string): boolean => {
  const service = labelledService(application, config ?? {})
  const { host = '' } = TARGET.exec(target)?.groups ?? {}
  return service !== null && (host === service || `${host}.`.startsWith(`${service}.${namespace}.`))
}

/** Says that nobody is let in, if the application has no Service. */
export const withoutService = ({ application }: Subject, state: EffectiveState): string[] =>
  isRelated(state) && providedRelations(state).length > 0 && labelledService(application, state.config ?? {}) === null
    ? [NO_SERVICE]
    : []

const NO_SERVICE =
  'policies: related lets nobody in, as the config has no Service: name it in service, or list policies of type unit'
