import { clusterStatus } from './cluster/desire.ts'
import type { Effective } from './relations/effective.ts'
import type { State, Subject } from './state.ts'
import { ownWorkload } from './workload/config.ts'
import { loopOf } from './workload/loop.ts'
import { type ApplicationStatus, statusOf } from './workload/status.ts'

/** The status of an application, as a pure function of its memory and of what the other sides of its relations say. */
export const applicationStatus = (
  subject: Subject,
  memory: State,
  { state, blocked }: Effective,
): ApplicationStatus => {
  const { config, units, refusedSpec, refused, specs, pending } = memory
  const own = ownWorkload(config)
  return statusOf({
    application: subject.application,
    units,
    expectsUnits: own !== undefined && own.replicas !== 0,
    badSpec: refusedSpec,
    refused: Object.values(refused?.objects ?? {}).filter((reason) => !refusedSpec?.startsWith(reason)),
    loop: loopOf(specs),
    incompatible: blocked[0],
    cluster: clusterStatus(subject, { ...memory, relations: state.relations }),
    pending,
  })
}
