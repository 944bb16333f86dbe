import { inClusterEndpoint } from './in-cluster.ts'
import type { ApiServerEndpoint } from './transport.ts'

/** Finds the API server: that of the pod's cluster, else that of kubeconfig files; undefined where there is neither. */
export const findEndpoint = async (kubeconfig: string | undefined): Promise<ApiServerEndpoint | undefined> => {
  const inCluster = inClusterEndpoint(process.env)
  if (inCluster || kubeconfig === undefined) return inCluster
  const { kubeconfigEndpoint } = await import('./kubeconfig.ts')
  return kubeconfigEndpoint(kubeconfig)
}
