import { type Directive, LITERALS } from './directives.ts'

/** Nothing but /tmp has to be writable. */
const TEMPORARY: readonly Directive[] = [
  ['client_body_temp_path', '/tmp/client_temp'],
  ['proxy_temp_path', '/tmp/proxy_temp_path'],
  ['fastcgi_temp_path', '/tmp/fastcgi_temp'],
  ['uwsgi_temp_path', '/tmp/uwsgi_temp'],
  ['scgi_temp_path', '/tmp/scgi_temp'],
]

/** Only what fails is logged. */
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

/** Gives a request to a backend the tenant that it came with, or none's. */
export function setTenant(module: 'proxy' | 'grpc'): Directive {
  return [`${module}_set_header`, 'X-Scope-OrgID', '$tenant']
}

/** A header that is set in a location would undo these for it. nginx sends the backend's Host by itself. */
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

/** The arguments of a request, to follow others. */
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
 * What follows the protocol in the path of a request, as it was sent: encoded, and with its query. Empty when it leads out of the backend's
 * own path, or when its beginning is another way to write the path of the location.
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

/** A body goes to the backend as it comes, which says itself what is too much for it. */
const BODY: readonly Directive[] = [
  ['client_max_body_size', '0'],
  ['proxy_request_buffering', 'off'],
]

/** For `proxy` and for `grpc` alike. The name in a URL is sent for TLS; before 1.23.4 nginx does not speak TLS 1.3 by default. */
const BACKENDS: readonly Directive[] = [
  ['proxy_http_version', '1.1'],
  ...['proxy', 'grpc'].flatMap((module): Directive[] => [
    [`${module}_connect_timeout`, '5s'],
    [`${module}_read_timeout`, '300s'],
    [`${module}_ssl_server_name`, 'on'],
    [`${module}_ssl_protocols`, 'TLSv1.2', 'TLSv1.3'],
  ]),
]

/** What holds for all servers, whatever is routed. */
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

/** The names of the certificate and its key in the directory of certificates. */
export type CertificateFiles = { readonly certificate: string; readonly key: string }

/** For all servers of a coordinator that has certificates. */
export const certificateDirectives = ({ certificate, key }: CertificateFiles): readonly Directive[] => [
  ['ssl_certificate', `/etc/nginx/certs/${certificate}`],
  ['ssl_certificate_key', `/etc/nginx/certs/${key}`],
  ['ssl_protocols', 'TLSv1.2', 'TLSv1.3'],
  ['ssl_ciphers', 'HIGH:!aNULL:!MD5'],
]

/** The authorities of backends: a file beside that of nginx, wherever this is mounted. */
export const AUTHORITIES_FILE = 'ca.crt'

/** Backends with TLS have to have a certificate for their name. */
export const VERIFIED: readonly Directive[] = ['proxy', 'grpc'].flatMap((module): Directive[] => [
  [`${module}_ssl_verify`, 'on'],
  [`${module}_ssl_verify_depth`, '4'],
  [`${module}_ssl_trusted_certificate`, AUTHORITIES_FILE],
])
