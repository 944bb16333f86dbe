import * as z from 'zod'
import { ConfigurationError } from '../../platform/base/errors.ts'

/** `name`, `*.name` for all below it, or `*`. */
const Hosts = z
  .string()
  .regex(
    /^(\*|(\*\.)?[-\w.]+)(\s*,\s*(\*|(\*\.)?[-\w.]+))*$/,
    'expected names of hosts with commas between, *. before one for all below it',
  )
  .transform((text) => text.toLowerCase().split(/\s*,\s*/))

const Schema = z.object({
  /** The port that the process listens on; 0 for any free one. */
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** The URL that events are published to. @default the process itself */
  K_SINK: z.url({ protocol: /^https?$/, error: 'expected a URL with http or https' }).optional(),
  /** The audience of bearer tokens. If set, every event must carry a token for it. */
  EVENT_AUDIENCE: z.string().min(1).optional(),
  /** Names that requests may have as Host where no token is asked for. @default those of Services of the cluster */
  ALLOWED_HOSTS: Hosts.optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** kubeconfig files, outside a cluster. */
  KUBECONFIG: z.string().min(1).optional(),
  /** The port of the embedded Kubernetes API that `npm start` serves. */
  EMBEDDED_PORT: z.coerce.number().int().min(0).max(65_535).default(8001),
})
export type Settings = z.infer<typeof Schema>

/** The settings in an environment. Throws ConfigurationError, naming each that is wrong. */
export const readSettings = (environment: Readonly<Record<string, string | undefined>>): Settings => {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const result = Schema.safeParse(given)
  if (result.success) return result.data
  throw new ConfigurationError(
    result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
  )
}
