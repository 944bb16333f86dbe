import { randomUUID } from 'node:crypto'
import { mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A share of a core as a container's limit has it: what it may use of each 100 ms, in a control group of its own. */
export type Quota = {
  /** A command that enters the group and becomes its arguments. */
  readonly enter: readonly string[]
  remove(): Promise<void>
}

const PERIOD_MICROSECONDS = 100_000

/** Where groups are made, and the file of the limit: https://docs.kernel.org/scheduler/sched-bwc.html, and version 2 of control groups. */
const HIERARCHIES = [
  { root: '/sys/fs/cgroup/cpu', file: 'cpu.cfs_quota_us', limit: (quota: number) => `${quota}` },
  { root: '/sys/fs/cgroup', file: 'cpu.max', limit: (quota: number) => `${quota} ${PERIOD_MICROSECONDS}` },
]

/** Undefined where this process may make no control group. */
export const createQuota = async (cores: number): Promise<Quota | undefined> => {
  for (const { root, file, limit } of HIERARCHIES) {
    const folder = join(root, `meshstep-bench-${randomUUID()}`)
    try {
      await mkdir(folder)
    } catch {
      continue
    }
    try {
      // a file that is not there is not made: it would limit nothing
      await writeFile(join(folder, file), limit(cores * PERIOD_MICROSECONDS), { flag: 'r+' })
    } catch {
      await rmdir(folder)
      continue
    }
    const enter = ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(folder, 'cgroup.procs')]
    return { enter, remove: () => removed(folder) }
  }
  return undefined
}

const MOST_TRIES = 100

/** A group is busy until the kernel has buried its last process. */
const removed = async (folder: string): Promise<void> => {
  for (let tries = 1; ; tries += 1)
    try {
      return await rmdir(folder)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || tries === MOST_TRIES) throw error
      await sleep(10)
    }
}
