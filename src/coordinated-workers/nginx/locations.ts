import { urlOf } from './backend.ts'
import { type Directive, literal } from './directives.ts'
import type { Route } from './route.ts'

// Each address holds a variable: so nginx looks up its name when a request comes, and not when it starts.

/** One path. The query of a request follows that of the backend's URL. */
export const exactLocation = ({ path, backend }: Route): Directive => {
  const query = backend.query === '' ? '$is_args$args' : '$more_arguments'
  return ['location', '=', path, [['proxy_pass', `${literal(urlOf(backend))}${query}`]]]
}

/** All paths below one. What follows it is put behind the path of the backend's URL. */
export const prefixLocation = ({ path, backend }: Route): Directive => {
  const url = urlOf({ ...backend, path: backend.path.replace(/\/+$/, '') })
  return [
    'location',
    '^~', // before regular expressions
    path,
    [
      ['if', '($tracing_path', '!~', '^/)', [['return', '404']]],
      ['proxy_pass', `${literal(url)}$tracing_path`],
    ],
  ]
}

/** One method of gRPC, which has the same path at the backend. */
export const methodLocation = ({ path, backend: { isTls, authority } }: Route): Directive => [
  'location',
  '=',
  path,
  [
    ['set', '$backend', `${isTls ? 'grpcs' : 'grpc'}://${authority}`],
    ['grpc_pass', '$backend'],
  ],
]
