import * as z from 'zod'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import { placeOf, type SpecDifference } from './difference.ts'
import { hashDatabags, type RemoteDatabag } from './echoes.ts'
import { describeEphemeral, type EphemeralValues } from './ephemeral-values.ts'
import type { Churn } from './limit.ts'
import { stringLeaves } from './string-leaves.ts'

/** A part of the config that is held back from units. `holds` lists ephemeral values in the last one sent. */
export const Held = z.strictObject({
  paths: z.array(z.string()),
  /** The application that the data were copied from. */
  application: z.string().optional(),
  holds: z.array(z.string()),
  /** The exceeded limit. */
  rate: z.string().optional(),
  /** The time of the last change of the sent value, in milliseconds since the epoch. */
  at: z.int(),
  /** A hash of the last sent value. */
  told: z.string(),
  /** The keys of its secret values. With them the same value is recognized when it is sent again. */
  keys: z.array(z.string()).optional(),
})
export type Held = z.infer<typeof Held>

/** The places that changed too often, and the probable cause. */
export type Evidence = Pick<Held, 'paths' | 'application' | 'holds' | 'rate'>

/** The context to describe churn in. */
type Circumstances = {
  readonly databags: readonly RemoteDatabag[]
  readonly known: EphemeralValues
  readonly churn: Churn
  /** The applications that changed places copied from, by path. */
  readonly echoes: ReadonlyMap<string, string>
  /** Hashes of the databags that earlier changes copied from, by application. */
  readonly copied: Readonly<Record<string, string>> | undefined
}

const MOST_PATHS = 10

/** Describes the changes of `places`. The places in `often` changed too often; `limit` is the exceeded number of changes. */
export const describeChurn = (
  often: readonly string[],
  limit: number,
  places: readonly SpecDifference[],
  { databags, known, churn, echoes, copied }: Circumstances,
): Evidence => {
  const paths = often.slice(0, MOST_PATHS)
  const changed = places.filter((place) => paths.includes(placeOf(place)))
  const sources = changed.flatMap(({ path }) => echoes.get(path) ?? [])
  const hashes = hashDatabags(databags, sources)
  // a part that copies constant data changes for another reason
  const application = sources.find((one) => ![undefined, hashes[one]].includes(ownValue(copied, one)))
  const holds = changed.flatMap(({ path, after }) => {
    const [what] = stringLeaves(after).flatMap(({ text }) => describeEphemeral(text, known) ?? [])
    return what === undefined ? [] : [`${path} holds ${what}`]
  })
  return defined({ paths, rate: `${limit} times within ${churn.minutes} minutes`, application, holds })
}

/** A part of the config that keeps changing, its places, and the evidence for churn. */
export type Churning = { readonly part: string; readonly paths: readonly string[]; readonly because: string }

/** Lists the parts of the config that are held back. */
export const findChurn = (history: Readonly<Record<string, { readonly held?: Held | undefined }>> = {}): Churning[] =>
  Object.entries(history).flatMap(([part, { held }]) => {
    if (held === undefined) return []
    const { paths, application, holds, rate = 'too often' } = held
    const because =
      application === undefined
        ? `units changed it ${rate}, and again`
        : `it copied data of ${application} ${rate}, and again: this application and ${application} keep changing each other`
    return [{ part, paths, because: [because, ...holds].join('; ') }]
  })

/** Describes churn to a person, with the remedy. */
export const churnMessage = ({ part, paths, because }: Churning): string =>
  `${part}: changes by units are not applied any more, and the running value stays: ${because}. It differs in ${paths.join(', ')}. ` +
  'Leave out what is new at each run, and name Services instead of addresses; ' +
  'the config of a person or a document, sent without a unit, is applied, and churn in the config allows more'
