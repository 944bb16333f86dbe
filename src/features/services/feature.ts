import type { Feature } from '../../core/feature/feature.ts'
import { relationsIn } from '../../core/state/relation.ts'
import { announce, markAccepted, nothingAnnounced } from './announced.ts'
import { offeredServices } from './offered.ts'
import { missingServices, serviceContent, serviceLookups } from './provided.ts'
import { servicesConfig, servicesState } from './schema.ts'
import { announcements } from './service-announcements.ts'
import { announceSettings } from './settings-changed.ts'

/** The feature for addresses of Services that applications publish to each other, and for announcements of changes. */
export const services = {
  name: 'services',
  config: servicesConfig,
  state: servicesState,
  lookups: (subject, { state }) => serviceLookups(subject, state),
  desire: ({ subject, resolved: { state }, seen: { lookups } }) => {
    const { waiting, problems } = offeredServices(subject, state)
    return { waiting: [...waiting, ...missingServices(subject, state, lookups).values()], unserved: problems }
  },
  publications: ({ subject, resolved: { state, unknown }, seen: { lookups } }) => {
    const missing = missingServices(subject, state, lookups)
    return Object.fromEntries(
      relationsIn(state).flatMap((relation) => {
        const services = missing.has(relation.key) ? undefined : state.config?.services
        const data = serviceContent(relation, subject.namespace, services)
        // after a lost memory, the earlier offer may still be valid
        const isUnknown = relation.role === 'provides' && unknown.config
        return data === undefined || isUnknown ? [] : [[relation.key, { data }] as const]
      }),
    )
  },
  derive: (state, { subject, now, resolve }) => {
    const isConcerned =
      state.announced || Object.values(state.relations).some((entry) => entry.interface === 'k8s-service')
    if (!isConcerned) return state
    const before = state.announced ?? nothingAnnounced()
    const announced = announce(before, offeredServices(subject, resolve(state).state).services, now.getTime())
    return announced === before ? state : { ...state, announced }
  },
  plan: (state, { state: resolved }, now) => {
    const before = state.announced ?? nothingAnnounced()
    const announced = announceSettings(before, resolved, now.getTime())
    return announced === before ? state : { ...state, announced }
  },
  announcements: (subject, state) => announcements(subject, state.announced ?? nothingAnnounced()),
  announced: (state, numbers) =>
    state.announced && numbers.length > 0 ? { ...state, announced: markAccepted(state.announced, numbers) } : state,
} satisfies Feature
