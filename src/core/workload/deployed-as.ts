import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { State } from '../state/state.ts'
import type { Deployed } from '../units/units.ts'
import { effectiveDeployment, ownWorkload } from './config.ts'
import { workloadTargets } from './label-targets.ts'

/** Returns the workload of an application's pods, with its type if it was found, or if the memory has it. */
export const deployedAs = (
  application: string,
  { config, workloadKind }: State,
  found?: KubernetesObject,
): Deployed => {
  const [target] = workloadTargets(application, config)
  const workload = target === undefined || target.kind === 'Service' ? application : target.name
  const own = ownWorkload(config)
  if (own) return { workload, type: effectiveDeployment(own).type }
  const kind = found?.kind ?? (target?.kind === 'Workload' ? workloadKind : target?.kind)
  if (kind === 'Deployment') return { workload, type: 'stateless' }
  return kind === 'StatefulSet' ? { workload, type: 'stateful' } : { workload }
}
