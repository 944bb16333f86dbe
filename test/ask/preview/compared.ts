import { compareAccess } from '../../../src/ask/preview/compare.ts'
import type { Plan } from '../../../src/ask/preview/preview.ts'
import { failureOf } from '../../../src/cli/plan.ts'
import { features } from '../../../src/features.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application } from '../../helpers/mesh.ts'
import { reading } from './reading.ts'

export const ON_MESH = { 'istio.io/dataplane-mode': 'ambient' }

export const ISTIO: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'istio', namespace: 'istio-system' },
  data: { mesh: 'trustDomain: cluster.local\n' },
}

type Options = Partial<Parameters<typeof compareAccess>[1]>

/** The plan that makes `after` out of `before`, in a cluster of these objects. */
export const planned = async (
  cluster: readonly KubernetesObject[],
  forked: { before?: readonly KubernetesObject[]; after?: readonly KubernetesObject[] },
  options: Options = {},
): Promise<Plan> => ({
  ...(await compareAccess(
    { before: [], after: [], ...forked },
    {
      ...{ memories: features.memories, kubernetes: reading(cluster) },
      ...{ near: new Set<string>(['shop']), hasTime: () => true, ...options },
    },
  )),
  ...{ steps: [], outcomes: [], objects: [], expectations: [] },
})

export const namespace = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
})

export const onMesh = (name: string, of = 'shop') => application(name, { namespace: of, labels: ON_MESH })

export const lines = ({ access }: Plan): string[] => access.map(({ line }) => line)

export const codeOf = (plan: Plan): number => failureOf(plan, 'lose')?.code ?? 0
