import { expect, test } from 'vitest'
import { askJuju } from '../../../src/cli/juju/ask.ts'
import { takeRound } from '../../../src/cli/juju/round.ts'
import { NAMESPACE } from '../../helpers/world.ts'
import { type Followed, followed, runStandIn } from './followed.ts'
import { createStandIn, emptyModel, type StandInModel, statusWith, type World } from './stand-in.ts'

const OPTION = 'meshstep-config'

const start = () => {
  const model: StandInModel = {
    ...emptyModel('b00'),
    applications: {
      details: { charm: 'details', revision: 1, units: [0], options: { [OPTION]: '{"labels":{"tier":"gold"}}' } },
      reviews: { charm: 'reviews', revision: 1, units: [0], options: { [OPTION]: null } },
    },
  }
  const config = ['details', 'reviews'].map((application) => ({ application, option: OPTION }))
  const juju = createStandIn({ [NAMESPACE]: model })
  return { model, juju, one: followed(juju, ['details', 'reviews'], { config }) }
}

/** A round of somebody who asks for no options. */
const followedBy = async ({ kubernetes }: Followed, juju: World) => {
  const answer = await askJuju(runStandIn(juju), NAMESPACE)
  return await takeRound(kubernetes, answer, { withPeers: false }, async () => undefined)
}

test('an option that a charm does not have is an error, and changes nothing', async () => {
  const { model, one } = start()
  await one.round()
  delete model.applications.details?.options?.[OPTION]
  await expect(one.round()).rejects.toThrow(
    'details has no option meshstep-config: juju config details lists those of its charm',
  )
  expect(one.world.object('ConfigMap', 'juju-config-details')?.data?.config).toBe('{"labels":{"tier":"gold"}}')
})

test('a config that Juju prints in another form is an error', async () => {
  const { juju, one } = start()
  juju.instead.config = { code: 0, stdout: 'tier: gold', stderr: '' }
  await expect(one.round()).rejects.toThrow('juju config details: expected its settings as JSON')
})

test('an option is the config of its application, and follows it; one without a value is none', async () => {
  const { model, one } = start()
  expect((await one.round()).writes).toEqual([{ document: 'ConfigMap shop/juju-config-details', change: 'created' }])
  expect(one.world.labels('details').template.tier).toBe('gold')
  Object.assign(model.applications.details ?? {}, { options: { [OPTION]: '{"labels":{"tier":"silver"}}' } })
  await one.round()
  expect(one.world.labels('details').template.tier).toBe('silver')
  Object.assign(model.applications.details ?? {}, { options: { [OPTION]: '' } })
  expect((await one.round()).writes).toEqual([{ document: 'ConfigMap shop/juju-config-details', change: 'removed' }])
  expect(one.world.labels('details').template.tier).toBeUndefined()
})

test('an option whose text is no YAML keeps the last config, is said, and stops nothing else', async () => {
  const { model, one } = start()
  await one.round()
  Object.assign(model.applications.details ?? {}, { options: { [OPTION]: 'labels:\n\ttier: silver' } })
  Object.assign(model.applications.reviews ?? {}, { options: { [OPTION]: '{}' } })
  const { unknown, writes } = await one.round()
  expect(unknown).toEqual([
    'shop/details: the option with its config is neither JSON nor YAML: Tabs are not allowed as indentation at line 2, column 1: correct it; its last config stays',
  ])
  expect(writes).toEqual([{ document: 'ConfigMap shop/juju-config-reviews', change: 'created' }])
  expect(one.world.object('ConfigMap', 'juju-config-details')?.data?.config).toBe('{"labels":{"tier":"gold"}}')
})

test('the config of an application that Juju cannot read stands', async () => {
  const { juju, one } = start()
  await one.round()
  juju.instead.status = statusWith(NAMESPACE, { reviews: { 'status-error': 'not found' } })
  expect((await one.round()).writes).toEqual([{ document: 'ConfigMap shop/juju-config-details', change: 'removed' }])
})

test('the config of an application that is gone goes with it', async () => {
  const { model, one } = start()
  await one.round()
  delete model.applications.details
  const { ended, writes } = await one.round()
  expect([ended, writes]).toEqual([
    ['details'],
    [{ document: 'ConfigMap shop/juju-config-details', change: 'removed' }],
  ])
  expect(one.world.labels('details').template.tier).toBeUndefined()
})

test('a run that does not ask for an option leaves the config that is there, and says so', async () => {
  const { juju, one } = start()
  await one.round()
  const { writes, notes } = await followedBy(one, juju)
  expect(writes).toEqual([])
  expect(notes).toEqual([
    'ConfigMap shop/juju-config-details stays, as --config names no option of details: delete it to remove the config',
  ])
  expect(one.world.labels('details').template.tier).toBe('gold')
})
