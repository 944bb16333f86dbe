import * as z from 'zod'

/** The address of a Prometheus, with a path before its API if there is one. */
export const PrometheusUrl = z
  .url({ protocol: /^https?$/, error: 'expected a URL with http or https' })
  .regex(
    /^[^@?#]*$/,
    'expected a URL without a user, a query or a fragment: a token goes into PROMETHEUS_TOKEN_FILE, a password into PROMETHEUS_HEADERS_FILE',
  )
