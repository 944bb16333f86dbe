import { spawnSync } from 'node:child_process'

const runs = (program: string): boolean => spawnSync(program, ['--version']).status === 0

/** Whether there are Prometheus and its promtool on this machine. */
export const hasPrometheus: boolean = runs('prometheus') && runs('promtool')
