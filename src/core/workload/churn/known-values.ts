import { isIP } from 'node:net'
import type { Relation } from '../../state/relation.ts'
import { type Units, unitName } from '../../units/units.ts'
import type { EphemeralValues } from './ephemeral-values.ts'
import { databagLeaves } from './string-leaves.ts'

/** The limit of units whose names are known. The last ones suffice, because a present unit builds the spec. */
const MOST_UNITS = 50
const MOST_ADDRESSES = 100

type Known = {
  readonly application: string
  /** A stateful application's pods keep their names. */
  readonly type: 'stateless' | 'stateful'
  readonly units: Units
  readonly remotes: readonly Relation['remote'][]
}

/** Collects the known ephemeral values: names of stateless units and their pods, and addresses in the unit databags of peers. */
export const knownEphemeralValues = ({ application, type, units, remotes }: Known): EphemeralValues => {
  const present = type === 'stateful' ? [] : Object.values(units.present).slice(-MOST_UNITS)
  const addresses = remotes.flatMap((remote) =>
    databagLeaves(remote.units)
      .filter((text) => isIP(text) !== 0)
      .map((address) => [address, `an address of ${remote.application}`] as const),
  )
  return new Map([
    ...addresses.slice(0, MOST_ADDRESSES),
    ...present.map(({ pod }) => [pod, 'the name of a pod'] as const),
    ...present.map(({ number }) => [unitName(application, number), 'the name of a unit'] as const),
  ])
}
