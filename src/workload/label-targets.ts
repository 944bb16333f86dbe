import type { LabelTarget } from '../kubernetes/label-target.ts'
import type { Config } from '../state/config.ts'
import { deploymentOf, isPodWorkload } from './config.ts'

/** Finds where an application holds its labels: its workload, if it has one, and then its Service. */
export const workloadTargets = (application: string, config: Config = {}): LabelTarget[] => {
  const { workload, enrolment } = config
  const { kind, name = application } = workloadIn(config) ?? { kind: 'Workload' as const }
  const onWorkload: LabelTarget = enrolment === 'in-place' ? { kind, name, on: 'pods' } : { kind, name }
  const service = serviceOf(application, config)
  return [
    ...(workload === null ? [] : [onWorkload]),
    ...(service === null ? [] : [{ kind: 'Service' as const, name: service }]),
  ]
}

/** The name of the Service to label; null for none. */
export const serviceOf = (application: string, config: Config): string | null => {
  const { service = hasNoService(config) ? null : application } = config
  return service
}

/** The workload that the config names, or that is ours and so has a kind and the application's name. */
const workloadIn = ({ workload }: Config): { kind: 'StatefulSet' | 'Deployment'; name?: string } | undefined => {
  if (!workload || !isPodWorkload(workload)) return workload ?? undefined
  return { kind: deploymentOf(workload).type === 'stateful' ? 'StatefulSet' : 'Deployment' }
}

/** A workload of ours may be meant to have no Service. */
const hasNoService = ({ workload }: Config): boolean =>
  !!workload && isPodWorkload(workload) && deploymentOf(workload).service === 'omit'
