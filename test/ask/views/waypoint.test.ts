import { expect, test } from 'vitest'
import { waypointOf } from '../../../src/ask/views/waypoint.ts'
import { waypointName } from '../../../src/mesh/istio/names.ts'

const LONG = 'a-beacon-whose-name-leaves-no-room-for-more-in-a-label'

test.each<[string, Parameters<typeof waypointOf>[0], string | undefined]>([
  ['of an application that is on no mesh', { namespace: 'shop', application: 'db', config: {}, labels: {} }, undefined],
  [
    'of a beacon that runs none',
    { namespace: 'shop', application: 'beacon', config: { mesh: { waypoint: false } as never }, labels: {} },
    undefined,
  ],
  [
    'of a beacon whose name is too long for a label, as the waypoint has it',
    { namespace: 'a-long-namespace', application: LONG, config: { mesh: {} as never }, labels: {} },
    waypointName('a-long-namespace', LONG),
  ],
  [
    'of a consumer, as its labels have it',
    { namespace: 'shop', application: 'db', config: {}, labels: { 'istio.io/use-waypoint': 'shop-beacon-waypoint' } },
    'shop-beacon-waypoint',
  ],
])('the waypoint %s', (_, view, name) => {
  expect(waypointOf(view)).toBe(name)
})
