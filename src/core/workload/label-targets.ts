import type { LabelTarget } from '../../platform/kubernetes/label-target.ts'
import type { Config } from '../state/config.ts'
import { effectiveDeployment, isPodWorkload } from './config.ts'

/** Finds the label targets of an application: its workload, if any, and its Service. */
export const workloadTargets = (application: string, config: Config = {}): LabelTarget[] => {
  const { workload, enrolment } = config
  const { kind, name = application } = namedWorkload(config) ?? { kind: 'Workload' as const }
  const onWorkload: LabelTarget = enrolment === 'in-place' ? { kind, name, on: 'pods' } : { kind, name }
  const service = labelledService(application, config)
  return [
    ...(workload === null ? [] : [onWorkload]),
    ...(service === null ? [] : [{ kind: 'Service' as const, name: service }]),
  ]
}

/** Returns the name of the Service to label. Null if there is none. */
export const labelledService = (application: string, config: Config): string | null => {
  const { service = hasNoService(config) ? null : application } = config
  return service
}

/** Returns the workload that the config names. One that meshstep deploys has a kind and the application's name. */
const namedWorkload = ({ workload }: Config): { kind: 'StatefulSet' | 'Deployment'; name?: string } | undefined => {
  if (!workload || !isPodWorkload(workload)) return workload ?? undefined
  return { kind: effectiveDeployment(workload).type === 'stateful' ? 'StatefulSet' : 'Deployment' }
}

/** Tells if the application has no Service. Only a workload that meshstep deploys can say so. */
const hasNoService = ({ workload }: Config): boolean =>
  !!workload && isPodWorkload(workload) && effectiveDeployment(workload).service === 'omit'
