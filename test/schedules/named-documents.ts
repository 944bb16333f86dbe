import { CONFIGURED, client, config, mesh, type Named, removed } from './script.ts'

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
    name: "a consumer's config document that is replaced by force takes no relation with it whose document is there",
    act: ({ say }) => {
      const relations = [client().told('details', 'document'), mesh().told('details', 'document')]
      const again = [removed('details', 'document'), config('details', 'document')]
      return say(config('beacon'), config('details', 'document'), ...relations, ...again)
    },
    end: { resync: 'details' },
  },
]
