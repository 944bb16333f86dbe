import { expect, test } from 'vitest'
import { ENROLMENT_LABEL, USE_WAYPOINT_LABEL } from '../../../src/core/relations/mesh-labels.ts'
import { desiredMeshLabels, labelsHandedElsewhere } from '../../../src/core/relations/requested-labels.ts'
import { resolveRelations } from '../../../src/core/relations/resolve-relations.ts'
import type { RelationEntry } from '../../../src/core/state/relation.ts'
import { entryOf, stateOf } from '../../helpers/states.ts'
import { SUBJECT } from '../../helpers/world.ts'

const effective = (...entries: readonly RelationEntry[]) => resolveRelations(SUBJECT, stateOf(entries), new Map()).state

const beacon = (id: number, labels: Readonly<Record<string, string>>): RelationEntry =>
  entryOf({ id, remote: { application: `beacon-${id}`, data: { labels: JSON.stringify(labels) } } })

const worker = (namespace?: string): RelationEntry =>
  entryOf({
    ...{ id: 9, endpoint: 'cluster', interface: 'cluster', role: 'provides' },
    remote: { application: 'worker', ...(namespace !== undefined && { namespace }) },
  })

const [A, B] = [USE_WAYPOINT_LABEL, 'istio.io/use-waypoint-namespace']

test('of labels that several beacons ask for, the values of the relation with the lowest id count', () => {
  const [first, second] = [beacon(2, { [A]: 'first' }), beacon(3, { [A]: 'second', [B]: 'second' })]
  const labels = { [A]: 'first', [B]: 'second' }
  expect(desiredMeshLabels(effective(second, first))).toEqual({ labels, elsewhere: labels })
  expect(desiredMeshLabels(effective(entryOf({ interface: 'sql' })))).toBeUndefined()
})

test('a coordinator hands the labels that lead to a waypoint to workers of other namespaces', () => {
  const mesh = beacon(2, { [ENROLMENT_LABEL]: 'ambient', [USE_WAYPOINT_LABEL]: 'way' })
  const handed = (...entries: readonly RelationEntry[]) => labelsHandedElsewhere(SUBJECT, effective(...entries))
  expect(handed(mesh, worker('other'))).toEqual({ [USE_WAYPOINT_LABEL]: 'way' })
  expect(handed(mesh, worker())).toEqual({})
  expect(handed(mesh)).toEqual({})
  expect(handed(worker('other'))).toEqual({})
})
