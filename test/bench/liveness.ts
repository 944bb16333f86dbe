import { Agent, request } from 'node:http'
import { constants, setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

// A process of its own, before all others where it may be: it is asked how long the server is not there, and not how long the sender of
// a thousand events at once, or who shares its two cores, is late in reading an answer.
try {
  setPriority(constants.priority.PRIORITY_HIGHEST)
} catch {
  // who is not root has the priority of all
}
const [, , port] = process.argv
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const ask = (): Promise<void> =>
  new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, agent, path: '/health/liveness' }, (response) => {
      response.resume().on('end', resolve)
    })
      .on('error', reject)
      .end()
  })

let isOver = false
let longest = 0
process.once('message', () => {
  isOver = true
})
process.send?.('online')
while (!isOver) {
  const began = performance.now()
  await ask()
  longest = Math.max(longest, performance.now() - began)
  await sleep(5)
}
agent.destroy()
process.send?.(longest)
process.disconnect()
