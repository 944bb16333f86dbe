import { spawnSync } from 'node:child_process'

const { stdout } = spawnSync('/usr/bin/node', ['-p', 'process.versions.node'], { encoding: 'utf8' })

/** The system's Node, where it is older than the one that meshstep needs. */
export const olderNode = Number.parseInt(stdout ?? '24', 10) < 24 ? '/usr/bin/node' : undefined

/** For the name of a test that needs it. */
export const becauseOfNode = olderNode ? '' : ': skipped, there is no older node here'
