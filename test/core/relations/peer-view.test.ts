import { expect, test } from 'vitest'
import { ENROLMENT_LABEL } from '../../../src/core/relations/mesh-labels.ts'
import { peerView } from '../../../src/core/relations/peer-view.ts'
import { type RelationEntry, relationKey } from '../../../src/core/state/relation.ts'
import { emptyState, type State } from '../../../src/core/state/state.ts'

const COORDINATOR = { namespace: 'shop', application: 'coordinator' }
const WORKER = { namespace: 'shop', application: 'worker' }

const entryOf = (others: Partial<RelationEntry>): RelationEntry => ({
  ...{ id: 1, endpoint: 'cluster', interface: 'cluster', role: 'requires', status: 'established' },
  ...{
    position: { at: 1 },
    told: { at: 1 },
    remote: { application: 'coordinator' },
    claim: { version: 'v1', phase: 'applied' as const },
  },
  ...others,
})

const stateOf = (...entries: readonly RelationEntry[]): State => ({
  ...emptyState(),
  relations: Object.fromEntries(entries.map((entry) => [relationKey(entry), entry])),
})

const OWN = entryOf({ role: 'provides', remote: { application: 'worker' }, claim: undefined })
const BEACON = { id: 2, endpoint: 'mesh', interface: 'service_mesh', remote: { application: 'beacon' } }

test.each([
  ['its labels enrol it', { [ENROLMENT_LABEL]: 'ambient' }, [], true],
  ['its labels are others', { team: 'a' }, [], undefined],
  ['a beacon asks for labels too', { [ENROLMENT_LABEL]: 'ambient' }, [entryOf(BEACON)], undefined],
  ['a beacon asks for none', { [ENROLMENT_LABEL]: 'ambient' }, [entryOf({ ...BEACON, claim: undefined })], true],
] as const)('a worker is on the mesh by its coordinator alone: %s', (_, labels, others, isEnrolled) => {
  const worker = { subject: WORKER, state: stateOf(entryOf({}), ...others), labels }
  const view = peerView(COORDINATOR, stateOf(OWN), relationKey(OWN), new Map([['shop/worker', worker]]))
  expect(view.isEnrolled).toBe(isEnrolled)
})
