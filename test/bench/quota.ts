import { type ControlGroup, createControlGroup } from '../helpers/control-group.ts'

/** A share of a core as a container's limit has it: what it may use of each 100 ms, in a control group of its own. */
export type Quota = ControlGroup

const PERIOD_MICROSECONDS = 100_000

/** Undefined where this process may make no control group. https://docs.kernel.org/scheduler/sched-bwc.html, and version 2 of control groups. */
export const createQuota = async (cores: number): Promise<Quota | undefined> => {
  const quota = cores * PERIOD_MICROSECONDS
  return await createControlGroup([
    { root: '/sys/fs/cgroup/cpu', file: 'cpu.cfs_quota_us', text: `${quota}` },
    { root: '/sys/fs/cgroup', file: 'cpu.max', text: `${quota} ${PERIOD_MICROSECONDS}` },
  ])
}
