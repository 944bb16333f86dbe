import { spawnSync } from 'node:child_process'

/** nginx on this machine, where it is usually kept out of the path of users; undefined where there is none. */
export const nginxProgram: string | undefined = ['nginx', '/usr/sbin/nginx'].find(
  (program) => spawnSync(program, ['-v']).status === 0,
)
