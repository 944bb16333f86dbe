import { isDeepStrictEqual } from 'node:util'
import { defined } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import type { Config } from '../config.ts'
import type { State } from '../state/state.ts'
import { ownWorkload } from '../workload/config.ts'

/**
 * Effects beyond the objects that carry the application's own name, as subresources of `applications.meshstep.dev` that RBAC can name:
 * `workload` runs pods, or labels and restarts a workload or Service of another name; `policies` writes policies as they are given;
 * `mesh` decides about policies and labels of others; `root` about those of the whole mesh.
 */
export type Effect = 'workload' | 'policies' | 'mesh' | 'root'

const EFFECTS: readonly Effect[] = ['workload', 'policies', 'mesh', 'root']

/**
 * Effects that a state asks for, now or once a leader is elected, and that the state before did not ask for in the same way: whoever sends
 * what leads from one to the other needs a permission for each. To ask for less needs none.
 */
export const newEffects = (subject: Subject, before: State, after: State): Effect[] => {
  if (before.config === after.config && before.pending === after.pending) return []
  const known = configsIn(before)
  return EFFECTS.filter((effect) =>
    configsIn(after).some((config) => {
      const asked = askedBy(effect, subject, config)
      return asked !== undefined && !known.some((one) => isDeepStrictEqual(askedBy(effect, subject, one), asked))
    }),
  )
}

const configsIn = ({ config, pending }: Pick<State, 'config' | 'pending'>): Config[] =>
  [config, pending?.data.config].filter((one) => one !== undefined)

/** The part of a config that has the effect, with all that shapes it; undefined where it has not. */
const askedBy = (effect: Effect, { application }: Subject, config: Config): unknown =>
  ASKED[effect](config, application)

const ASKED: Readonly<Record<Effect, (config: Config, application: string) => unknown>> = {
  workload: (config, application) =>
    unlessEmpty({ own: ownWorkload(config), ofAnother: ofAnother(config, application) }),
  policies: (config) => {
    const { rawPolicies = [], meshPolicies = [], enforcement } = config
    const given = unlessEmpty({ rawPolicies: listed(rawPolicies), meshPolicies: listed(meshPolicies) })
    return given && { ...given, enforcement, ...(given.meshPolicies !== undefined && identitiesIn(config)) }
  },
  mesh: (config) => {
    const { hardened: _, rootNamespace: __, ...others } = config.mesh ?? {}
    return config.mesh && { others, enforcement: config.enforcement, ...identitiesIn(config) }
  },
  root: ({ mesh: { hardened, rootNamespace } = {} }) =>
    hardened === true || rootNamespace !== undefined ? { hardened, rootNamespace } : undefined,
}

/** The workload and the Service of another name, with what is done to them. */
const ofAnother = ({ workload, service, labels, enrolment }: Config, application: string): unknown => {
  const named = unlessEmpty({
    workload: workload && 'name' in workload && workload.name !== application ? workload.name : undefined,
    service: service === application ? undefined : (service ?? undefined),
  })
  return named && { ...named, labels, enrolment }
}

/** Who the callers are that policies name: with other identities the same policies let in somebody else. */
const identitiesIn = ({ trustDomain, serviceAccounts, mesh }: Config) => ({
  trustDomain,
  serviceAccounts,
  ofMesh: [mesh?.trustDomain, mesh?.trustDomainAliases, mesh?.trustDomains],
})

const listed = <T>(items: readonly T[]): readonly T[] | undefined => (items.length === 0 ? undefined : items)

const unlessEmpty = (parts: Record<string, unknown>): Record<string, unknown> | undefined => {
  const given = defined(parts)
  return Object.keys(given).length === 0 ? undefined : given
}
