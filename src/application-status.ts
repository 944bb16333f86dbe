import { clusterStatus } from './cluster/desire.ts'
import { heard } from './relations/heard.ts'
import type { State, Subject } from './state.ts'
import { ownWorkload } from './workload/config.ts'
import { loopOf } from './workload/loop.ts'
import { type ApplicationStatus, statusOf } from './workload/status.ts'

/** The status of an application, as a pure function of its memory. */
export const applicationStatus = (subject: Subject, memory: State): ApplicationStatus => {
  const { state, blocked } = heard(memory)
  const { config, units, refusedSpec, specs, pending } = state
  const own = ownWorkload(config)
  return statusOf({
    application: subject.application,
    units,
    expectsUnits: own !== undefined && own.replicas !== 0,
    badSpec: refusedSpec,
    loop: loopOf(specs),
    incompatible: blocked[0],
    cluster: clusterStatus(subject, state),
    pending,
  })
}
