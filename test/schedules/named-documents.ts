import type { Actor } from './actor.ts'
import { sendResync } from './properties.ts'
import { CONFIGURED, client, config, forgotten, mesh, type Named, removed, type Script } from './script.ts'
import { type Letter, objectNamed } from './world.ts'

const MEMORY_WRITE = /^PUT .*\/juju-service-mesh-/

/** A process that found the document of a client deleted, and is about to say so when the document has come back and its events were taken. */
const overtake = async ({ say, send, start, runTo, runOut }: Script): Promise<Actor | undefined> => {
  const told = client().told('productpage', 'document')
  await say(config('beacon'), config('details'), told, mesh().told('details'))
  const [gone] = send(client().ended('productpage', 'document'))
  const slow = gone && (await start(gone))
  if (slow) await runTo(slow, MEMORY_WRITE)
  for (const letter of send(told)) await runOut(await start(letter))
  return slow
}

/** One process takes letters at once, also those that were answered before. */
const takeTogether = async ({ runOut, run: { world } }: Script, letters: readonly Letter[]): Promise<void> => {
  let process: Actor | undefined
  for (const letter of letters) process = await world.deliver(letter, 0, process)
  if (process) await runOut(process)
}

/** Relations and configs that are kept in documents. */
export const documentHistories: readonly Named[] = [
  {
    name: 'a beacon whose config document is replaced by force works again',
    act: ({ say }) =>
      say(
        config('beacon', 'document'),
        ...CONFIGURED.slice(1),
        mesh().told('details'),
        removed('beacon', 'document'),
        config('beacon', 'document'),
      ),
    end: { resync: 'details' },
  },
  {
    name: 'a config document that is gone counts no more, though its making was heard by a process whose clock is ahead',
    act: async ({ say, send, runOut, run: { world } }) => {
      await say(config('beacon'), client().told('details'), mesh().told('details'))
      for (const letter of send(config('details', 'document'))) await runOut(await world.deliver(letter, 5_000))
      await say(removed('details', 'document'))
    },
    end: { resync: 'beacon' },
  },
  ...[
    {
      what: 'config',
      side: 'beacon',
      before: CONFIGURED.slice(1),
      made: config('beacon', 'document'),
      gone: removed('beacon', 'document'),
    },
    {
      what: 'relation',
      side: 'details',
      before: CONFIGURED,
      made: mesh().told('details', 'document'),
      gone: mesh().ended('details', 'document'),
    },
  ].flatMap(({ what, side, before, made, gone }) =>
    ['deletion', 'resync'].map(
      (beside): Named => ({
        name: `a ${what} document that is gone counts no more, though a process whose clock is ahead heard of its making, which comes again beside a ${beside}`,
        act: async (script) => {
          const { say, hold, quiet, runOut, run } = script
          await say(...before)
          const told = hold(made)
          for (const letter of told) await runOut(await run.world.deliver(letter, 5_000))
          await quiet()
          const last = hold(gone)
          if (beside === 'resync') sendResync(run.world, side)
          await takeTogether(script, [...(beside === 'resync' ? run.world.network : last), ...told])
        },
        end: 'nothing',
      }),
    ),
  ),
  {
    name: 'everything is deleted and applied again: details is on the mesh',
    act: ({ say }) => {
      const up = [config('beacon', 'document'), config('details', 'document'), mesh().told('details', 'document')]
      const down = [removed('beacon', 'document'), removed('details', 'document'), mesh().ended('details', 'document')]
      return say(...up, ...down, ...up)
    },
    end: 'nothing',
  },
  {
    name: 'everything is deleted and applied again at once: details is on the mesh',
    act: async ({ say, send, quiet }) => {
      const up = [config('beacon', 'document'), config('details', 'document'), mesh().told('details', 'document')]
      const down = [removed('beacon', 'document'), removed('details', 'document'), mesh().ended('details', 'document')]
      await say(...up)
      for (const fact of [...down, ...up]) send(fact)
      await quiet()
    },
    end: 'nothing',
  },
  {
    name: 'a relation document whose event is lost counts with a resync of the application',
    act: async ({ say, send, lose }) => {
      await say(...CONFIGURED)
      send(mesh().told('details', 'document'))
      lose()
    },
    end: { resync: 'details' },
  },
  {
    name: 'a relation document whose deletion is lost is over with a resync of the namespace',
    act: async ({ say, send, lose }) => {
      await say(...CONFIGURED, mesh().told('details', 'document'))
      send(mesh().ended('details', 'document'))
      lose()
    },
    end: { resync: undefined },
  },
  {
    name: 'a relation document that is first seen when the application is removed counts',
    act: async ({ say, send, lose }) => {
      await say(config('beacon'), config('details', 'document'))
      send(mesh().told('details', 'document'))
      lose()
      await say(removed('details', 'document'))
    },
    end: { resync: undefined },
  },
  ...(['details', 'beacon'] as const).map(
    (side): Named => ({
      name: `a relation document of ${side} keeps details on the mesh when the config document of details is deleted`,
      act: ({ say }) =>
        say(
          config('beacon'),
          config('details', 'document'),
          client().told('details', 'document'),
          mesh().told(side, 'document'),
          removed('details', 'document'),
        ),
      end: 'nothing',
    }),
  ),
  {
    name: 'a relation document keeps details on the mesh when its config document is deleted, and its memory is lost after that',
    act: ({ say }) =>
      say(
        config('beacon'),
        config('details', 'document'),
        client().told('details', 'document'),
        mesh().told('details', 'document'),
        removed('details', 'document'),
        forgotten('details'),
      ),
    end: { resync: 'details' },
  },
  ...(['details', 'beacon'] as const).map(
    (side): Named => ({
      name: `a beacon whose config document is deleted has no mesh though a relation document of ${side} is there`,
      act: ({ say }) =>
        say(
          config('beacon', 'document'),
          config('details'),
          mesh().told(side, 'document'),
          removed('beacon', 'document'),
        ),
      end: 'nothing',
      check: ({ expect, run }) => {
        const memory = objectNamed(run.world.api, 'ConfigMap', 'juju-service-mesh-beacon-labels')
        expect(
          memory?.data?.state?.includes('"status":"established"') === true,
          'the beacon does not know the relation',
        )
      },
    }),
  ),
  {
    name: 'a relation document that is applied after the config document was deleted counts',
    act: ({ say }) =>
      say(
        config('beacon'),
        config('details', 'document'),
        removed('details', 'document'),
        mesh().told('details', 'document'),
      ),
    end: 'nothing',
  },
  {
    name: 'the last document of an application takes it off the mesh',
    act: ({ say }) =>
      say(
        config('beacon'),
        config('details', 'document'),
        mesh().told('details', 'document'),
        removed('details', 'document'),
        mesh().ended('details', 'document'),
      ),
    end: 'nothing',
  },
  {
    name: 'a deleted document of a lost memory is known to the other side by its name: the relation is over',
    act: async ({ say, send, lose }) => {
      const configs = [config('beacon'), config('details', 'document')]
      await say(...configs, client().told('details', 'document'), mesh().told('details'))
      send(client().ended('details', 'document'))
      lose()
      send(forgotten('details'))
    },
    end: { resync: undefined },
  },
  {
    name: 'a config document that is made and deleted while its application is removed is over, though its making is heard last',
    act: async ({ say, hold, quiet, run }) => {
      await say(config('beacon', 'document'), config('details'), mesh().told('details'), removed('beacon', 'document'))
      const made = hold(config('beacon', 'document'))
      await say(removed('beacon', 'document'))
      run.world.network.push(...made)
      await quiet()
    },
    end: 'nothing',
  },
  {
    name: 'a process that read before a document came back does not end its relation',
    act: async (script) => {
      const slow = await overtake(script)
      if (slow) await script.runOut(slow)
    },
    end: { resync: 'details' },
  },
  {
    name: 'a process that died before a document came back does not end its relation when its write is executed late',
    act: async (script) => {
      const { run, quiet } = script
      const slow = await overtake(script)
      if (slow) run.world.crash(slow, true)
      await quiet()
      for (const call of [...run.world.late]) run.world.makeLate(call)
    },
    end: { resync: 'details' },
  },
  {
    name: "a consumer's config document that is replaced by force takes no relation with it whose document is there",
    act: ({ say }) => {
      const relations = [client().told('details', 'document'), mesh().told('details', 'document')]
      const again = [removed('details', 'document'), config('details', 'document')]
      return say(config('beacon'), config('details', 'document'), ...relations, ...again)
    },
    end: { resync: 'details' },
  },
]
