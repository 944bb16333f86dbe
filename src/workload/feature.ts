import { defined } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import type { Feature } from '../feature/feature.ts'
import { findLookup } from '../kubernetes/lookups.ts'
import { nameOf, type Reference } from '../kubernetes/objects.ts'
import type { Config } from '../state/config.ts'
import { specWarnings } from './accepted.ts'
import { churnMessage, findChurn } from './churn/evidence.ts'
import { ownWorkload } from './config.ts'
import { heldMessages } from './data-churn.ts'
import { givenProblems } from './given.ts'
import { workloadTargets } from './label-targets.ts'
import { ownedWorkloadKinds, secretObjects, workloadObjects } from './objects.ts'
import { workloadConfig, workloadState } from './schema.ts'
import { storeName } from './secrets.ts'

/** The workload of an application: another's, or ours to deploy by its pod spec. */
export const workload = {
  name: 'workload',
  config: workloadConfig,
  state: workloadState,
  effects: ({ application }, config) => {
    const asked = defined({ own: ownWorkload(config), ofAnother: ofAnother(application, config) })
    return Object.keys(asked).length === 0 ? {} : { workload: asked }
  },
  targets: workloadTargets,
  problems: (config) => givenProblems(config).map(({ path, message }) => ({ path: ['workload', ...path], message })),
  lookups: (subject, { state: { config } }) => (ownWorkload(config)?.secrets ? [storeReference(subject)] : []),
  kinds: (config) => {
    const own = ownWorkload(config)
    return own ? ownedWorkloadKinds(own) : []
  },
  desire: ({ subject, resolved: { state }, seen: { lookups } }) => {
    const own = ownWorkload(state.config)
    const churning = findChurn(state.configChurn)
    const messages = [
      ...churning.map(churnMessage),
      ...(churning.length > 0 ? [] : specWarnings(state, subject.application)),
      ...heldMessages(state),
    ]
    if (own === undefined) return { messages }
    const { data = {} } = findLookup(lookups, nameOf(storeReference(subject))) ?? {}
    const { objects, unknown } = secretObjects(subject, own, data)
    return { objects: [...objects, ...workloadObjects(subject, own)], unknown, messages }
  },
} satisfies Feature

/** The workload and Service of other names, with the changes made to them. */
const ofAnother = (
  application: string,
  { workload: given, service, labels, enrolment }: Config,
): object | undefined => {
  const named = defined({
    workload: given && 'name' in given && given.name !== application ? given.name : undefined,
    service: service === application ? undefined : (service ?? undefined),
  })
  return Object.keys(named).length === 0 ? undefined : { ...named, labels, enrolment }
}

const storeReference = ({ namespace, application }: Subject): Reference => ({
  kind: 'Secret',
  namespace,
  name: storeName(application),
})
