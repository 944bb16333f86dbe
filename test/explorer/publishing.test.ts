import { ends, numbered, related, WIDE } from './race.ts'
import { runScenarios } from './run-scenarios.ts'
import type { Scenario } from './scenario.ts'

/** Whoever is related to one of `endpoints` may reach the pods of `web`. */
const config = (sequence: number, ...endpoints: string[]) =>
  numbered(sequence, 'config-changed', {
    config: { policies: endpoints.map((relation) => ({ type: 'unit', relation })) },
  })

const client = (sequence: number, id: number, application: string) =>
  numbered(sequence, 'relation-changed', {
    relation: { id, endpoint: application, interface: 'http', role: 'provides' },
    remote: { application, data: {} },
  })

const scenarios: Scenario[] = [
  {
    name: 'who may reach an application changes twice: the beacon ends with the last word',
    before: [related(1, { 'istio.io/use-waypoint': 'on' }), client(1, 1, 'a'), client(1, 2, 'b'), config(1, 'a')],
    race: [config(2, 'a', 'b'), config(3, 'b')],
    ends: { ...ends({ 'istio.io/use-waypoint': 'on' }), told: ['b'] },
    isPublishing: true,
    bounds: WIDE,
  },
  {
    name: 'a relation comes while the config changes',
    before: [related(1, { 'istio.io/use-waypoint': 'on' }), client(1, 1, 'a')],
    race: [config(2, 'a', 'b'), client(3, 2, 'b')],
    ends: { ...ends({ 'istio.io/use-waypoint': 'on' }), told: ['a', 'b'] },
    isPublishing: true,
    bounds: WIDE,
  },
]

runScenarios('publishing', scenarios)
