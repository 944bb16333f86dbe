import * as z from 'zod'
import { describeProblem } from '../base/printed.ts'
import type { Databag } from '../state/relation.ts'
import { readValue } from './databag.ts'

/** A target that an application guards: a Service, by default the one of its name, or its pods. */
export const Guarded = z.object(
  {
    type: z.enum(['app', 'unit'], 'expected app or unit'),
    service: z.string('expected a Service: a string').min(1).nullish(),
    /** The endpoints that would let somebody in, where none of them has a relation. */
    unrelated: z.array(z.string('expected an endpoint: a string')).nullish(),
  },
  'expected a target: an object',
)

export type Guarded = z.infer<typeof Guarded>

/** The targets of a databag and the problems of the others; or why they cannot be known. */
export type ReadGuards = { guards: Guarded[]; problems: string[] } | { unreadable: string }

export const List = z.array(z.unknown(), 'expected a list of targets')

/** Reads the key `guarded` of a consumer's databag, which stands beside `policies`, the charm library's key. */
export const readGuards = (databag: Databag): ReadGuards => {
  const list = readValue(databag, 'guarded', List)
  if ('unreadable' in list) return list
  const elements = (list.value ?? []).map((element, index) => {
    const result = Guarded.safeParse(element)
    return result.success ? result.data : describeProblem(result.error, element, `guarded[${index}]`)
  })
  return {
    guards: elements.filter((element) => typeof element !== 'string'),
    problems: elements.filter((element) => typeof element === 'string'),
  }
}
