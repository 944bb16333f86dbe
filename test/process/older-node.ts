import { spawnSync } from 'node:child_process'

const { stdout } = spawnSync('/usr/bin/node', ['-p', 'process.versions.node'], { encoding: 'utf8' })

const [major = 24, minor = 0] = (stdout ?? '24').split('.').map(Number)

/** The system's Node, where it is older than the one that meshstep needs. */
export const olderNode = major < 22 || (major === 22 && minor < 18) ? '/usr/bin/node' : undefined

/** For the name of a test that needs it. */
export const becauseOfNode = olderNode ? '' : ': skipped, there is no older node here'
