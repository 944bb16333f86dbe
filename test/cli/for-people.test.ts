import { expect, test } from 'vitest'
import { greeting, readableLine } from '../../src/cli/for-people.ts'

test('a person at a terminal reads where the page is, what to try, and how it ends', () => {
  const said = greeting({ functions: 'http://127.0.0.1:8080', kubernetes: 'http://127.0.0.1:8001' })
  expect(said).toContain('The page:      http://127.0.0.1:8080/')
  expect(said).toContain("echo 'mesh: {}' | npx meshstep --namespace bookinfo config beacon -f -")
  expect(said).toContain('kubectl --server http://127.0.0.1:8001 get')
  expect(said).toContain('Ctrl+C ends it.')
})

test('a person whose server has another port is told a command that finds it', () => {
  const said = greeting({ functions: 'http://127.0.0.1:18080', kubernetes: 'http://127.0.0.1:8001' })
  expect(said).toContain(
    "echo 'mesh: {}' | npx meshstep --server http://127.0.0.1:18080 --namespace bookinfo config beacon -f -",
  )
})

test('a person whose own cluster is served reads nothing of an example', () => {
  const said = greeting({ functions: 'http://127.0.0.1:8080' })
  expect(said).toContain('curl http://127.0.0.1:8080/applications')
  expect(said).not.toContain('bookinfo')
})

test('a line of the log is read as its time, its message and its fields', () => {
  const line = JSON.stringify({ level: 30, time: 0, port: 8080, functions: ['resync'], host: 'a', msg: 'listening' })
  expect(readableLine(`${line}\n`)).toMatch(/^\d\d:\d\d:\d\d listening port=8080 functions=\["resync"\] host=a\n$/)
})

test('a step is read as the line that `meshstep tail` has of it', () => {
  const step = {
    ...{ application: 'details', status: 'changed', event: { type: 'dev.meshstep.relation-changed.v1' } },
    written: ['ConfigMap shop/juju-service-mesh-details-labels', 'Service shop/details'],
  }
  expect(readableLine(JSON.stringify({ level: 30, time: 0, ...step, msg: 'step done' }))).toBe(
    '00:00:00  details               changed    relation-changed  Service shop/details\n',
  )
})
