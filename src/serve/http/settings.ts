import * as z from 'zod'
import { PrometheusUrl } from '../../ask/traffic/prometheus-url.ts'
import { ConfigurationError } from '../../platform/base/errors.ts'

/** `name`, `*.name` for all names below it, or `*`. */
const Hosts = z
  .string()
  .regex(
    /^(\*|(\*\.)?[-\w.]+)(\s*,\s*(\*|(\*\.)?[-\w.]+))*$/,
    'expected names of hosts with commas between, *. before one for all below it',
  )
  .transform((text) => text.toLowerCase().split(/\s*,\s*/))

const Schema = z.object({
  /** The port to listen on. 0 means any free one. */
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** The URL that receives events. @default the process itself */
  K_SINK: z.url({ protocol: /^https?$/, error: 'expected a URL with http or https' }).optional(),
  /** The audience of bearer tokens. If set, every event must carry a token for it. */
  EVENT_AUDIENCE: z.string().min(1).optional(),
  /** Allowed values of the Host header, if no token is required. @default names of Services of the cluster */
  ALLOWED_HOSTS: Hosts.optional(),
  /** The Prometheus that `GET /traffic` reads. */
  PROMETHEUS_URL: PrometheusUrl.optional(),
  /** Files with a bearer token for it, with headers for it, and with the certificates of its authority. */
  PROMETHEUS_TOKEN_FILE: z.string().min(1).optional(),
  PROMETHEUS_HEADERS_FILE: z.string().min(1).optional(),
  PROMETHEUS_CA_FILE: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** The kubeconfig files, outside a cluster. */
  KUBECONFIG: z.string().min(1).optional(),
  /** The port of the embedded Kubernetes API that `npm start` serves. */
  EMBEDDED_PORT: z.coerce.number().int().min(0).max(65_535).default(8001),
})
export type Settings = z.infer<typeof Schema>

/** Reads the settings from environment variables. Throws ConfigurationError with the name of each wrong one. */
export const readSettings = (environment: Readonly<Record<string, string | undefined>>): Settings => {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const result = Schema.safeParse(given)
  if (result.success) return result.data
  throw new ConfigurationError(
    result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
  )
}
