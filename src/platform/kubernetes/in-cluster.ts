import { changingFile } from '../base/changing-file.ts'
import { ConfigurationError } from '../base/errors.ts'
import type { ApiServerEndpoint } from './transport.ts'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Names the missing variable of a pod's environment. */
export const notAPod = ({ KUBERNETES_SERVICE_HOST: host }: Readonly<Record<string, string | undefined>>): string =>
  host
    ? 'KUBERNETES_SERVICE_HOST is set and KUBERNETES_SERVICE_PORT is not, where a pod has both'
    : 'this is not a pod (KUBERNETES_SERVICE_HOST is not set)'

/**
 * Finds the API server from inside a pod, or returns undefined outside a cluster. Token and certificate authority are read again after their files change,
 * because the kubelet rotates them (kubernetes.io/docs/tasks/run-application/access-api-from-pod).
 */
export const inClusterEndpoint = (
  environment: Readonly<Record<string, string | undefined>>,
  directory = SERVICE_ACCOUNT,
): ApiServerEndpoint | undefined => {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  if (!host || !port) return undefined
  const reading = (file: string) => {
    const path = `${directory}/${file}`
    const read = changingFile(path)
    return (): string => {
      try {
        return read().trim()
      } catch (error) {
        throw new ConfigurationError(`${path} cannot be read: the pod needs a service account with a mounted token`, {
          cause: error,
        })
      }
    }
  }
  const [readToken, readAuthority] = [reading('token'), reading('ca.crt')]
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    credentials: onceATurn(() => ({ ca: readAuthority(), headers: { authorization: `Bearer ${readToken()}` } })),
  }
}

/** Checks the files once for all calls that start in the same turn of the event loop. */
const onceATurn = <T>(look: () => T): (() => T) => {
  let seen: { readonly value: T } | undefined
  return () => {
    if (seen === undefined) {
      seen = { value: look() }
      setImmediate(() => {
        seen = undefined
      })
    }
    return seen.value
  }
}
