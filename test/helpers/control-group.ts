import { randomUUID } from 'node:crypto'
import { mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A control group as a container's limit makes it. */
export type ControlGroup = {
  /** A command that enters the group and becomes its arguments. */
  readonly enter: readonly string[]
  remove(): Promise<void>
}

/** Where groups are made, and the file of a limit with what is written to it. */
export type Limit = { readonly root: string; readonly file: string; readonly text: string }

/** The first limit that can be set; undefined where this process may make no control group. */
export const createControlGroup = async (limits: readonly Limit[]): Promise<ControlGroup | undefined> => {
  for (const { root, file, text } of limits) {
    const folder = join(root, `meshstep-test-${randomUUID()}`)
    try {
      await mkdir(folder)
    } catch {
      continue
    }
    try {
      // a file that is not there is not made: it would limit nothing
      await writeFile(join(folder, file), text, { flag: 'r+' })
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
