import type { Answer, Request } from '../api/api.ts'
import recorded from './juju-model.json' with { type: 'json' }

const { status, relations, units } = recorded

const which = {
  bookinfo: { name: 'admin/bookinfo', 'model-uuid': 'b00', 'controller-name': status.model.controller },
}

/** The output of `juju` about the model, by the beginning of its arguments. */
const PRINTED: readonly (readonly [RegExp, string])[] = [
  [/^status .*--relations/, relations],
  [/^status /, JSON.stringify(status)],
  [/^show-unit /, JSON.stringify(units)],
  [/^show-model /, JSON.stringify(which)],
]

/** Answers what `juju` prints when it is asked about the model `bookinfo` of the example: the body has its arguments. */
export const demoJuju = ({ path, body = '' }: Request): Answer | undefined => {
  if (path !== '/juju') return undefined
  const printed = PRINTED.find(([pattern]) => pattern.test(body))?.[1]
  const headers = { 'content-type': 'text/plain; charset=utf-8' }
  return printed === undefined
    ? { status: 404, headers, body: `the model of the example knows no juju ${body}\n` }
    : { status: 200, headers, body: printed }
}
