import { broken, DEEP, elected, ends, related, WIDE } from './race.ts'
import { runScenarios } from './run-scenarios.ts'
import type { Scenario } from './scenario.ts'

const scenarios: Scenario[] = [
  {
    name: 'relation data is emptied while the leader dies and the next one is elected',
    before: [elected('web/0', 1), related(1, { 'istio.io/use-waypoint': 'bar' })],
    race: [related(2, {}), elected('web/1', 2)],
    ends: ends({}),
    bounds: DEEP,
  },
  {
    name: 'two changes of one relation',
    race: [
      related(1, { 'istio.io/use-waypoint': '1', 'istio.io/ingress-use-waypoint': '1' }),
      related(2, { 'istio.io/use-waypoint-namespace': '2', 'istio.io/ingress-use-waypoint': '2' }),
    ],
    ends: ends({ 'istio.io/use-waypoint-namespace': '2', 'istio.io/ingress-use-waypoint': '2' }),
    bounds: DEEP,
  },
  {
    name: 'a change is delivered twice, with its successor in between',
    race: [related(1, { 'istio.io/use-waypoint': '1' }), related(2, {}), related(1, { 'istio.io/use-waypoint': '1' })],
    ends: ends({}),
    bounds: WIDE,
  },
  {
    name: 'a relation changes while it breaks',
    before: [related(1, { 'istio.io/use-waypoint': '1' })],
    race: [related(2, { 'istio.io/use-waypoint': '2' }), broken(3)],
    ends: ends({}),
    bounds: DEEP,
  },
  {
    name: 'two relations at once',
    race: [related(1, { 'istio.io/use-waypoint': '1' }, 7), related(1, { 'istio.io/use-waypoint-namespace': '1' }, 8)],
    ends: ends({ 'istio.io/use-waypoint': '1', 'istio.io/use-waypoint-namespace': '1' }),
    bounds: WIDE,
  },
  {
    name: 'three at once',
    race: [
      related(1, { 'istio.io/use-waypoint': '1' }),
      related(2, { 'istio.io/use-waypoint-namespace': '1' }),
      elected('web/0', 1),
    ],
    ends: ends({ 'istio.io/use-waypoint-namespace': '1' }),
    bounds: WIDE,
  },
]

runScenarios('relations', scenarios)
