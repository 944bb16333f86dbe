import { urlOf } from './backend.ts'
import { type Directive, literal } from './directives.ts'
import type { NginxRoute } from './route.ts'

// Each address holds a variable, so that nginx looks its name up per request and not at start.

/** Routes one path. The query of a request follows that of the backend's URL. */
export const exactLocation = ({ path, backend }: NginxRoute): Directive => {
  const query = backend.query === '' ? '$is_args$args' : '$more_arguments'
  return ['location', '=', path, [['proxy_pass', `${literal(urlOf(backend))}${query}`]]]
}

/** Routes all paths below one to those below the backend's URL. */
export const prefixLocation = ({ path, backend }: NginxRoute): Directive => {
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

/** Routes one gRPC method, which has the same path at the backend. */
export const methodLocation = ({ path, backend: { isTls, authority } }: NginxRoute): Directive => [
  'location',
  '=',
  path,
  [
    ['set', '$backend', `${isTls ? 'grpcs' : 'grpc'}://${authority}`],
    ['grpc_pass', '$backend'],
  ],
]
