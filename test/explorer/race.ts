import type { Event } from '../../src/platform/cloudevents/cloud-event.ts'
import { event, meshRelation } from '../helpers/world.ts'

export const OWN = { 'app.kubernetes.io/name': 'web' }
export const TEMPLATE = { ...OWN, team: 'blue' }
export const FOREIGN = { template: TEMPLATE, service: OWN }
export const MEMORY = '/api/v1/namespaces/{namespace}/configmaps/juju-service-mesh-web-labels'

export const numbered = (sequence: number, name: string, data: Record<string, unknown>): Event =>
  event(name, data, { extensions: { sequence: String(sequence) } })

export const related = (sequence: number, labels: Record<string, string>, id = 7) =>
  numbered(sequence, 'relation-changed', meshRelation(labels, id))
export const broken = (sequence: number, id = 7) => numbered(sequence, 'relation-broken', { relation: { id } })
export const elected = (unit: string, epoch: number) => event('leader-elected', { unit, epoch })
export const restarted = (uid: string) => event('pod-restarted', { pod: { name: 'web-0', uid } })

export const ends = (ours: Record<string, string>, memory: Record<string, string> | undefined = ours) => ({
  template: { ...TEMPLATE, ...ours },
  service: { ...OWN, ...ours },
  memory,
})

/** The bounds for the races that everything else is built on, for the others, and for all once more with a lost answer. */
export const DEEP = { preemptions: 2, crashes: 1, losses: 0 }
export const WIDE = { preemptions: 1, crashes: 1, losses: 0 }
export const LOSSY = { preemptions: 1, crashes: 0, losses: 1 }
