import { type Directive, LITERALS } from './directives.ts'

/** Paths for temporary files. Only /tmp is writable. */
const TEMPORARY: readonly Directive[] = [
  ['client_body_temp_path', '/tmp/client_temp'],
  ['proxy_temp_path', '/tmp/proxy_temp_path'],
  ['fastcgi_temp_path', '/tmp/fastcgi_temp'],
  ['uwsgi_temp_path', '/tmp/uwsgi_temp'],
  ['scgi_temp_path', '/tmp/scgi_temp'],
]

/** Logs only failures. */
const LOG: readonly Directive[] = [
  [
    'map',
    '$status',
    '$loggable',
    [
      ['~^[23]', '0'],
      ['default', '1'],
    ],
  ],
  ['access_log', '/dev/stderr', 'combined', 'if=$loggable'],
]

/** Passes on the request's tenant, or the default tenant. */
export function setTenant(module: 'proxy' | 'grpc'): Directive {
  return [`${module}_set_header`, 'X-Scope-OrgID', '$tenant']
}

/** Sets the tenant for all locations without headers of their own, which would replace these. nginx sends the backend's Host by itself. */
const TENANT: readonly Directive[] = [
  [
    'map',
    '$http_x_scope_orgid',
    '$tenant',
    [
      ['', 'anonymous'],
      ['default', '$http_x_scope_orgid'],
    ],
  ],
  setTenant('proxy'),
  setTenant('grpc'),
]

/** Appends the arguments of a request to existing ones. */
const MORE_ARGUMENTS: Directive = [
  'map',
  '$args',
  '$more_arguments',
  [
    ['', ''],
    ['default', '&$args'],
  ],
]

/**
 * Extracts the part of a request's path after the protocol, still encoded, with its query. It is empty if the path leaves the backend's path, or if the
 * location's own path is spelled differently.
 */
const TRACING_PATH: Directive = [
  'map',
  '$request_uri',
  '$tracing_path',
  [
    ['~*^[^?#]*(?:/|%2f)(?:\\.|%2e){1,2}(?:/|%2f|[?#]|$)', ''],
    ['~^/proxy/[a-z]+-tracing/[-._a-z0-9]+/*(?<below>/[^#]*)', '$below'],
    ['default', ''],
  ],
]

/** Streams bodies to the backend, which enforces its own limit. */
const BODY: readonly Directive[] = [
  ['client_max_body_size', '0'],
  ['proxy_request_buffering', 'off'],
]

/** Settings for `proxy` and `grpc`. TLS sends the name in the URL. Before 1.23.4, nginx does not use TLS 1.3 by default. */
const BACKENDS: readonly Directive[] = [
  ['proxy_http_version', '1.1'],
  ...['proxy', 'grpc'].flatMap((module): Directive[] => [
    [`${module}_connect_timeout`, '5s'],
    [`${module}_read_timeout`, '300s'],
    [`${module}_ssl_server_name`, 'on'],
    [`${module}_ssl_protocols`, 'TLSv1.2', 'TLSv1.3'],
  ]),
]

/** Directives of all servers, independent of routes. */
export const COMMON: readonly Directive[] = [
  ...TEMPORARY,
  ['default_type', 'text/plain'],
  ...LOG,
  ...TENANT,
  LITERALS,
  MORE_ARGUMENTS,
  TRACING_PATH,
  ...BODY,
  ...BACKENDS,
]

/** The file names of the certificate and its key. */
export type CertificateFiles = { readonly certificate: string; readonly key: string }

/** Builds the certificate directives for all servers of a coordinator. */
export const certificateDirectives = ({ certificate, key }: CertificateFiles): readonly Directive[] => [
  ['ssl_certificate', `/etc/nginx/certs/${certificate}`],
  ['ssl_certificate_key', `/etc/nginx/certs/${key}`],
  ['ssl_protocols', 'TLSv1.2', 'TLSv1.3'],
  ['ssl_ciphers', 'HIGH:!aNULL:!MD5'],
]

/** The file with the authorities of backends. It is beside nginx.conf, wherever that is mounted. */
export const AUTHORITIES_FILE = 'ca.crt'

/** Requires a certificate with its name from each TLS backend. */
export const VERIFIED: readonly Directive[] = ['proxy', 'grpc'].flatMap((module): Directive[] => [
  [`${module}_ssl_verify`, 'on'],
  [`${module}_ssl_verify_depth`, '4'],
  [`${module}_ssl_trusted_certificate`, AUTHORITIES_FILE],
])
