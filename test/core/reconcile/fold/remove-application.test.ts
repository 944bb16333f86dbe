import { describe, expect, test } from 'vitest'
import { removeApplication } from '../../../../src/core/reconcile/fold/remove-application.ts'
import { OwnedKind, ownedName } from '../../../../src/core/state/owned-kinds.ts'
import { type State, VERSION } from '../../../../src/core/state/state.ts'
import { noUnits } from '../../../../src/core/units/units.ts'
import { features } from '../../../../src/features.ts'
import { entryOf, stateOf } from '../../../helpers/states.ts'

const NOW = new Date('2026-01-02T03:04:05.000Z')
const POSITION = { source: 'juju', id: 'removal', time: 5, arrived: 5 }

const remove = (changes: Partial<State>) => removeApplication(features, stateOf([entryOf()], changes), POSITION, NOW)

const CONFIG = features.config.parse({ labels: { a: 'b' } })
const TOLD: Partial<State> = {
  ...{ config: CONFIG, document: 'document', settings: { a: 'b' }, databag: { db: { a: 'b' } } },
  ...{ leader: { unit: 'web/0' }, lost: { labels: true }, awaiting: 'labels-applied', writeToken: 'token' },
  units: { ...noUnits(), next: 3 },
}

const marked = (at: number): State['marks'] => ({
  ...{ config: { at }, settings: { at }, databag: { at }, leader: { at } },
})

const WORKLOAD = { 'Deployment.apps': null, Service: null, ServiceAccount: null, 'StatefulSet.apps': null }

describe('the removal of an application', () => {
  test('the removal of an application forgets what was told before, and keeps what other applications see', () => {
    const { state } = remove({ ...TOLD, marks: marked(4) })
    expect(state).toEqual({
      ...{ version: VERSION, removed: NOW.toISOString(), units: noUnits(), writeToken: 'token', owned: WORKLOAD },
      marks: { ...marked(4), application: { at: 5, ids: ['removal'] } },
      relations: expect.any(Object),
    })
    expect(Object.values(state.relations)).toMatchObject([{ status: 'ended' }])
  })

  test('the removal of an application keeps what was told after it, and then the application is there', () => {
    const { state } = remove({ ...TOLD, marks: marked(6) })
    const { config, document, settings, databag, leader } = TOLD
    expect(state).toMatchObject({ config, document, settings, databag, leader, owned: WORKLOAD })
    expect(state).not.toHaveProperty('removed')
    expect(state).not.toHaveProperty('lost')
  })

  test('the removal of an application counts where only its settings are later', () => {
    const { state } = remove({ ...TOLD, marks: { ...marked(4), settings: { at: 6 } } })
    expect(state).toMatchObject({ settings: { a: 'b' }, removed: NOW.toISOString() })
    for (const part of ['config', 'document', 'databag', 'leader']) expect(state).not.toHaveProperty(part)
  })

  test('the removal of an application counts where a config was told later, and is lost', () => {
    expect(remove({ marks: marked(6) }).state).toMatchObject({ removed: NOW.toISOString() })
  })

  test('the removal of an application whose config is unknown is for all kinds of objects', () => {
    const { state } = remove({ owned: { 'Other.example.com': null } })
    const all = OwnedKind.options.map((kind) => [ownedName(kind), NOW.toISOString()] as const)
    expect(state.owned).toEqual({ 'Other.example.com': null, ...Object.fromEntries(all) })
  })

  test('the removal of an application keeps the data of units that were told after it', () => {
    const asked = { unit: 'web/0', data: { config: CONFIG, settings: { a: 'b' } } }
    const pending = [{ unit: 'web/1', data: { config: CONFIG } }, asked]
    expect(remove({ pending, marks: { ...marked(4), settings: { at: 6 } } }).state.pending).toEqual([
      { unit: 'web/0', data: { settings: { a: 'b' } } },
    ])
    expect(remove({ pending, marks: marked(4) }).state).not.toHaveProperty('pending')
    expect(remove({ pending, marks: marked(6) }).state.pending).toEqual(pending)
  })

  test('the removal of an application that was removed later already changes nothing', () => {
    const state = stateOf([entryOf()], { ...TOLD, marks: { application: { at: 7 } } })
    expect(removeApplication(features, state, POSITION, NOW)).toEqual({ state, late: 'stale' })
  })
})
