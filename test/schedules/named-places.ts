import { CONFIGS } from './fixture.ts'
import { client, config, configOf, mesh, type Named } from './script.ts'

const LABELLED = { ...CONFIGS.details, labels: { team: 'books' } }

/** What is told of labels, policies and beacons, beside relations. */
export const placeHistories: readonly Named[] = [
  {
    name: 'an application with labels of its own joins the mesh, and none of its clients is refused meanwhile',
    act: ({ say }) =>
      say(config('beacon'), configOf('details', LABELLED), client().told('details'), mesh().told('details')),
  },
]
