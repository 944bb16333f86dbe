import { inClusterEndpoint } from './in-cluster.ts'
import type { ApiServerEndpoint } from './transport.ts'

/** Finds the API server of the pod's cluster, else of kubeconfig files. Returns undefined without either. */
export const findEndpoint = async (kubeconfig: string | undefined): Promise<ApiServerEndpoint | undefined> => {
  const inCluster = inClusterEndpoint(process.env)
  if (inCluster || kubeconfig === undefined) return inCluster
  const { kubeconfigEndpoint } = await import('./kubeconfig.ts')
  return kubeconfigEndpoint(kubeconfig)
}
