import * as z from 'zod'
import { describeProblem } from '../../platform/base/printed.ts'
import type { Databag } from '../state/relation.ts'
import { readValue } from './databag.ts'

/** A target that an application guards: its pods, or a Service, by default that of its name. */
export const Guarded = z.object(
  {
    type: z.enum(['app', 'unit'], 'expected app or unit'),
    service: z.string('expected a Service: a string').min(1).nullish(),
    /** Endpoints in policies of the target. None of them has a relation, so nobody is admitted. */
    unrelated: z.array(z.string('expected an endpoint: a string')).nullish(),
  },
  'expected a target: an object',
)

export type Guarded = z.infer<typeof Guarded>

/** The targets of a databag and the problems of invalid ones, or the reason why it is unreadable. */
export type ReadGuards = { guards: Guarded[]; problems: string[] } | { unreadable: string }

export const List = z.array(z.unknown(), 'expected a list of targets')

/** Reads `guarded` of a consumer's databag. The charm library has only `policies`. */
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
