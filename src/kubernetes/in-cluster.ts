import { readFile } from 'node:fs/promises'
import { ConfigurationError } from '../base/errors.ts'
import type { ApiServerEndpoint } from './transport.ts'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Says which variable of a pod's environment is missing. */
export const notAPod = ({ KUBERNETES_SERVICE_HOST: host }: Readonly<Record<string, string | undefined>>): string =>
  host
    ? 'KUBERNETES_SERVICE_HOST is set and KUBERNETES_SERVICE_PORT is not, where a pod has both'
    : 'this is not a pod (KUBERNETES_SERVICE_HOST is not set)'

/**
 * The API server as a pod sees it, or undefined outside a cluster. Token and certificate authority are read for every request: the
 * kubelet rotates them (kubernetes.io/docs/tasks/run-application/access-api-from-pod).
 */
export const inClusterEndpoint = (
  environment: Readonly<Record<string, string | undefined>>,
  directory = SERVICE_ACCOUNT,
): ApiServerEndpoint | undefined => {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  if (!host || !port) return undefined
  const read = async (file: string): Promise<string> => {
    try {
      return (await readFile(`${directory}/${file}`, 'utf8')).trim()
    } catch (error) {
      throw new ConfigurationError(
        `${directory}/${file} cannot be read: the pod needs a service account with a mounted token`,
        {
          cause: error,
        },
      )
    }
  }
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    credentials: async () => {
      const [token, ca] = await Promise.all([read('token'), read('ca.crt')])
      return { ca, headers: { authorization: `Bearer ${token}` } }
    },
  }
}
