import { defined } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { findLookup } from '../../platform/kubernetes/lookups.ts'
import { nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import type { Feature } from '../feature/feature.ts'
import type { Config } from '../state/config.ts'
import { ownWorkload } from './config.ts'
import { workloadTargets } from './label-targets.ts'
import { isOwnAccount, isOwnName, usedBy } from './names.ts'
import { ownedWorkloadKinds, secretObjects, workloadObjects } from './objects.ts'
import { workloadConfig, workloadState } from './schema.ts'
import { secretWarnings, storeReference } from './secrets.ts'
import { givenProblems } from './sent-problems.ts'

/** The feature for the workload of an application: one of another owner, or one that meshstep deploys by its pod spec. */
export const workload = {
  name: 'workload',
  config: workloadConfig,
  state: workloadState,
  effects: ({ application }, config) => {
    const { labels } = config
    const isLabelled = labels !== undefined && Object.keys(labels).length > 0
    const others = ofAnother(application, config)
    // labels of the template restart pods, and decide on Services that select them and on their mesh
    const asked = defined({ own: ownWorkload(config), ofAnother: others, labels: isLabelled ? labels : undefined })
    return Object.keys(asked).length === 0 ? {} : { workload: asked }
  },
  uses: (subject, config) => {
    const own = ownWorkload(config)
    if (own === undefined) return namedObjects(subject, config)
    const isOwn = isOwnAccount(subject.application, own)
    return [
      ...usedBy(subject, own).map((use) => (use.kind === 'ServiceAccount' ? { ...use, isOwn } : use)),
      ...namedObjects(subject, config),
    ]
  },
  targets: workloadTargets,
  problems: (config) => givenProblems(config).map(({ path, message }) => ({ path: ['workload', ...path], message })),
  lookups: (subject, { state: { config } }) => (ownWorkload(config)?.secrets ? [storeReference(subject)] : []),
  kinds: ({ config = {} }) => {
    const own = ownWorkload(config)
    return own ? ownedWorkloadKinds(own) : []
  },
  desire: ({ subject, resolved: { state }, seen: { lookups } }) => {
    const own = ownWorkload(state.config)
    if (own === undefined) return {}
    const { data = {} } = findLookup(lookups, nameOf(storeReference(subject))) ?? {}
    const { objects, unknown } = secretObjects(subject, own, data)
    return {
      objects: [...objects, ...workloadObjects(subject, own)],
      unknownRequests: unknown,
      messages: secretWarnings(own),
    }
  },
} satisfies Feature

/** Returns the workload and Service with names of other applications, and the changes made to them. */
const ofAnother = (application: string, { workload: given, service, enrolment }: Config): object | undefined => {
  const named = defined({
    workload:
      given && 'name' in given && given.name !== application ? { kind: given.kind, name: given.name } : undefined,
    service: service === application ? undefined : (service ?? undefined),
  })
  return Object.keys(named).length === 0 ? undefined : { ...named, enrolment }
}

/** Lists the labelled workload and Service that have names of other applications. */
const namedObjects = ({ namespace, application }: Subject, { workload: given, service }: Config): Reference[] => [
  ...(given && 'name' in given && !isOwnName(application, given.name) ? [{ ...given, namespace }] : []),
  ...(service && !isOwnName(application, service) ? [{ kind: 'Service' as const, namespace, name: service }] : []),
]
