import { urlOf } from './backend.ts'
import { type Directive, literal } from './directives.ts'
import type { NginxRoute } from './route.ts'

// Each address has a variable, so that nginx resolves its name for each request and not at start.

/** Routes one path. The request's query is appended to that of the backend's URL. */
export const exactLocation = ({ path, backend }: NginxRoute): Directive => {
  const query = backend.query === '' ? '$is_args$args' : '$more_arguments'
  return ['location', '=', path, [['proxy_pass', `${literal(urlOf(backend))}${query}`]]]
}

/** Routes all paths below a path to the same paths below the backend's URL. */
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
