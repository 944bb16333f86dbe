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

/** The name of the Service to label; null for none. */
export const labelledService = (application: string, config: Config): string | null => {
  const { service = hasNoService(config) ? null : application } = config
  return service
}

/** The workload that the config names; one of ours has a kind and the application's name. */
const namedWorkload = ({ workload }: Config): { kind: 'StatefulSet' | 'Deployment'; name?: string } | undefined => {
  if (!workload || !isPodWorkload(workload)) return workload ?? undefined
  return { kind: effectiveDeployment(workload).type === 'stateful' ? 'StatefulSet' : 'Deployment' }
}

/** A workload of ours may have no Service. */
const hasNoService = ({ workload }: Config): boolean =>
  !!workload && isPodWorkload(workload) && effectiveDeployment(workload).service === 'omit'
