import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

// a thread of its own: whoever sends a thousand events at once is late in reading an answer
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const ask = (): Promise<void> =>
  new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: workerData, agent, path: '/health/liveness' }, (response) => {
      response.resume().on('end', resolve)
    })
      .on('error', reject)
      .end()
  })

let isOver = false
let longest = 0
parentPort?.once('message', () => {
  isOver = true
})
while (!isOver) {
  const began = performance.now()
  await ask()
  longest = Math.max(longest, performance.now() - began)
  await sleep(5)
}
agent.destroy()
parentPort?.postMessage(longest)
