import { client, config, forgotten, mesh, type Named, removed, type Script } from './script.ts'
import { isEnrolled, takeSnapshot } from './snapshot.ts'

const [FIRST, SECOND] = [mesh(1, 'details'), mesh(1, 'productpage')]

const BOTH = [config('beacon'), config('details'), config('productpage')]

const FIRST_DOCUMENT = FIRST.told('details', 'document')
const SECOND_DOCUMENT = SECOND.told('productpage', 'document')

const expectOnMesh = ({ expect, run: { world } }: Script, name: string, isOn: boolean): void =>
  expect(isEnrolled(takeSnapshot(world), name) === isOn, `${name} is ${isOn ? 'off' : 'on'} the mesh`)

/** From here on nothing but a memory may be written. */
const keepCalm = ({ expect, run: { world } }: Script): void => {
  world.api.subscribe(({ type, object: { kind, metadata } }) => {
    expect(kind === 'ConfigMap', `${type} ${kind} ${metadata.name}`)
  })
}

/** Two relations that are told of with one id. */
export const idHistories: readonly Named[] = [
  {
    name: 'of two documents of different applications with one id the first keeps it through five resyncs, and nothing is written',
    act: async (script) => {
      const { say, resync } = script
      await say(...BOTH, FIRST_DOCUMENT)
      keepCalm(script)
      await say(SECOND_DOCUMENT)
      for (let count = 0; count < 5; count += 1) await resync()
    },
    check: (script) => {
      expectOnMesh(script, 'details', true)
      expectOnMesh(script, 'productpage', false)
    },
    end: { resync: undefined },
  },
  {
    name: 'of two documents of one application with one id the first keeps it through five resyncs, and nothing is written',
    act: async (script) => {
      const { say, resync } = script
      await say(...BOTH, FIRST.told('beacon'))
      keepCalm(script)
      await say(SECOND.told('beacon', 'document'))
      for (let count = 0; count < 5; count += 1) await resync()
    },
    check: (script) => {
      expectOnMesh(script, 'details', true)
      expectOnMesh(script, 'productpage', false)
    },
    end: { resync: undefined },
  },
  ...(['event', 'document'] as const).map(
    (form): Named => ({
      name: `a relation that was told of under a used id takes it when the first one ends, by ${form}`,
      act: async (script) => {
        await script.say(...BOTH, FIRST.told('details', form), SECOND.told('productpage', form))
        expectOnMesh(script, 'productpage', false)
        await script.say(FIRST.ended('details', form))
      },
      check: (script) => {
        expectOnMesh(script, 'details', false)
        expectOnMesh(script, 'productpage', true)
      },
      end: { resync: 'beacon' },
    }),
  ),
  {
    name: 'a relation that was told of under a used id takes it when the application of the first one is removed',
    act: async (script) => {
      await script.say(...BOTH, FIRST.told('details'), SECOND.told('productpage'), removed('details'))
    },
    check: (script) => {
      expectOnMesh(script, 'details', false)
      expectOnMesh(script, 'productpage', true)
    },
    end: { resync: 'beacon' },
  },
  ...(['event', 'document'] as const).map(
    (form): Named => ({
      name: `an application that is removed takes nothing from the one that has the id of its relation, told by ${form}`,
      act: async (script) => {
        await script.say(...BOTH, FIRST_DOCUMENT, SECOND.told('productpage', form))
        keepCalm(script)
        await script.say(removed('productpage'))
      },
      check: (script) => expectOnMesh(script, 'details', true),
      end: { resync: undefined },
    }),
  ),
  {
    name: 'a document that is deleted takes nothing from the relation that has the id it named',
    act: async (script) => {
      await script.say(...BOTH, FIRST.told('beacon'), SECOND.told('beacon', 'document'))
      keepCalm(script)
      await script.say(SECOND.ended('beacon', 'document'))
    },
    check: (script) => expectOnMesh(script, 'details', true),
    end: { resync: undefined },
  },
  {
    name: 'of two relations with one id the one whose labels are carried keeps it when the memory of their beacon is lost',
    act: async (script) => {
      const { say, resync } = script
      await say(...BOTH, SECOND_DOCUMENT, FIRST_DOCUMENT)
      keepCalm(script)
      await say(forgotten('beacon'), config('beacon'))
      await resync()
    },
    check: (script) => {
      expectOnMesh(script, 'details', false)
      expectOnMesh(script, 'productpage', true)
    },
    end: { resync: undefined },
  },
  {
    name: 'an id that is told of another client while the first one uses details lets in the first alone, whoever is told',
    act: ({ say }) =>
      say(...BOTH, FIRST.told('details'), client().told('details'), client(3, 'reviews').told('reviews')),
    end: { resync: 'details' },
  },
]
