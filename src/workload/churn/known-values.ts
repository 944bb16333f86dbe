import { isIP } from 'node:net'
import type { Relation } from '../../state/relation.ts'
import { type Units, unitName } from '../../units/units.ts'
import type { PassingValues } from './ephemeral-values.ts'
import { textsInDatabags } from './string-leaves.ts'

/** The spec is made by a unit of now: the last ones are enough. */
const MOST_UNITS = 50
const MOST_ADDRESSES = 100

type Known = {
  readonly application: string
  /** Of a stateful application, names stay. */
  readonly type: 'stateless' | 'stateful'
  readonly units: Units
  readonly remotes: readonly Relation['remote'][]
}

/** What is known to pass with a pod: the names of stateless units and their pods, and the addresses that units of others tell. */
export const knownPassingValues = ({ application, type, units, remotes }: Known): PassingValues => {
  const present = type === 'stateful' ? [] : Object.values(units.present).slice(-MOST_UNITS)
  const addresses = remotes.flatMap((remote) =>
    textsInDatabags(remote.units)
      .filter((text) => isIP(text) !== 0)
      .map((address) => [address, `an address of ${remote.application}`] as const),
  )
  return new Map([
    ...addresses.slice(0, MOST_ADDRESSES),
    ...present.map(({ pod }) => [pod, 'the name of a pod'] as const),
    ...present.map(({ number }) => [unitName(application, number), 'the name of a unit'] as const),
  ])
}
