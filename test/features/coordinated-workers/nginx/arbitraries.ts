import fc from 'fast-check'
import type { Routing } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { routingOf } from './routing.ts'

const LINES = `. .. %2e%2e % %zz %00 %0a \\ " ' \` # ? & ; { } }} $ $$ \${ $host \${request_uri} $(id) \\"; '; /* // ~^ [::1 ] (.*)
  🔥 ü __proto__ constructor user:password@`

/** What would be something else in a file of nginx, in a URL, in an object or in a regular expression, and what is too much for them. */
export const nasty = fc.oneof(
  fc.constantFrom(...LINES.split(/\s+/), '"; include /etc/passwd; "', '; return 200;', 'a b'),
  fc.constantFrom('', ' ', '\0', '\n', '\r\n', '\t', '\u2028', '\ufeff', '\ud800'),
  fc.constantFrom('x'.repeat(300), '$'.repeat(900), '"'.repeat(2500), '\\'.repeat(5000)),
  fc.string({ unit: 'binary', maxLength: 8 }),
)

const orNasty = (arbitrary: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 3, arbitrary }, { weight: 1, arbitrary: nasty })
const joined = (separator: string, part: fc.Arbitrary<string>) =>
  fc.array(part, { maxLength: 4 }).map((parts) => parts.join(separator))

const name = fc.constantFrom('tempo', 'loki-0', 'a-1', 'prometheus')
const unit = orNasty(fc.tuple(name, fc.nat({ max: 3 })).map(([application, number]) => `${application}/${number}`))
const host = orNasty(
  fc.oneof(
    fc.tuple(name, orNasty(name)).map(([first, second]) => `${first}.${second}.svc.cluster.local`),
    fc.constantFrom('10.1.2.3', 'PROMETHEUS', 'prometheus-0.', '1.2.3.999', '0x7f.1', 'ü.example'),
  ),
)
const address = fc.oneof(host, fc.constantFrom('fd00::1', '::ffff:10.0.0.1', 'fe80::1%eth0'))
const urlHost = fc.oneof(host, fc.constantFrom('[fd00::1]', '[::1', 'user:password@tempo'))
const port = fc.constantFrom('', ':80', ':443', ':4318', ':0', ':65536', ':', ':a', ':4317;')

/** What stands behind host and port. */
export const pathAndQuery = fc
  .tuple(
    joined('/', orNasty(fc.constantFrom('api', 'v1', 'push'))),
    fc.option(joined('&', orNasty(fc.constant('a=b')))),
  )
  .map(([path, query]) => `/${path}${query === null ? '' : `?${query}`}`)

const scheme = fc.constantFrom(
  'http://',
  'https://',
  'HTTP://',
  'grpc://',
  'grpcs://',
  'ftp://',
  '',
  'http:',
  'javascript:',
)
const url = orNasty(
  fc.tuple(scheme, urlHost, port, fc.oneof(fc.constant(''), pathAndQuery)).map((parts) => parts.join('')),
)
const protocol = orNasty(fc.constantFrom('otlp_http', 'otlp_grpc', 'zipkin', 'jaeger_grpc', 'jaeger_thrift_http'))
const receivers = fc.dictionary(protocol, url, { maxKeys: 4 })

/** A coordinator among others that may say anything. */
export const routing: fc.Arbitrary<Routing> = fc
  .record({
    tls: fc.boolean(),
    ipv6: fc.constantFrom(false, true),
    resolver: fc.oneof(
      fc.constantFrom('10.152.183.10', 'fd00::10', '[fd00::10]:5353', '127.0.0.1:53', 'fe80::1%eth0'),
      nasty,
    ),
    workers: fc.array(fc.record({ unit, address }), { maxLength: 6 }),
    logging: fc.array(fc.record({ unit, url }), { maxLength: 6 }),
    remoteWrite: fc.array(fc.record({ url }), { maxLength: 8 }),
    charmTracing: receivers,
    workloadTracing: receivers,
  })
  .map(routingOf)
