import * as z from 'zod'
import { at } from '../record.ts'
import { digestOf } from './digest.ts'

/** What a spec may depend on. */
export type SpecInputs = {
  /** All but relations: the config without the spec, the leader settings. */
  readonly rest: unknown
  /** By relation id: the application on the other side, as people call it, and its databags. */
  readonly relations: Readonly<Record<string, { readonly application: string; readonly data: unknown }>>
}

/** The same by hash, as it is remembered. */
export const InputHashes = z.strictObject({
  rest: z.string(),
  relations: z.record(z.string(), z.strictObject({ application: z.string(), hash: z.string() })),
})
export type InputHashes = z.infer<typeof InputHashes>

export const hashesOf = ({ rest, relations }: SpecInputs): InputHashes => ({
  rest: digestOf(rest),
  relations: Object.fromEntries(
    Object.entries(relations).map(([id, { application, data }]) => [id, { application, hash: digestOf(data) }]),
  ),
})

/** What became of the inputs: nothing; only what one application says in its databags; anything else. */
export type InputChange = 'nothing' | 'something' | { readonly application: string }

export const changeOf = (before: InputHashes, after: InputHashes): InputChange => {
  if (before.rest !== after.rest) return 'something'
  const ids = [...new Set([...Object.keys(before.relations), ...Object.keys(after.relations)])]
  const changed = ids
    .map((id) => [at(before.relations, id), at(after.relations, id)] as const)
    .filter(([one, other]) => one?.hash !== other?.hash || one?.application !== other?.application)
  const applications = new Set(changed.flatMap((pair) => pair.map((relation) => relation?.application)))
  const [application] = applications
  if (applications.size === 0) return 'nothing'
  return applications.size === 1 && application !== undefined ? { application } : 'something'
}
