import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import model from '../../src/embedded/demo/juju-model.json' with { type: 'json' }
import { createStandIn, emptyModel, type World } from '../cli/juju/stand-in.ts'
import { COMMAND, COMPILED, serveExample, settle, temporaryDirectory, until } from './helpers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

type Ran = { code: number | null; stdout: string; stderr: string }

type Running = { child: ChildProcess; text(): string; ended: Promise<Ran> }

/** A `juju` on the PATH, which answers of a world that a test changes. */
const standIn = async (world: World) => {
  const folder = await temporaryDirectory()
  const keep = () => writeFile(join(folder, 'world.json'), JSON.stringify(world))
  await keep()
  const program = join(folder, 'juju')
  const entry = `'${process.execPath}' '${ROOT}test/cli/juju/stand-in-program.ts'`
  await writeFile(program, `#!/bin/sh\nexec ${entry} "$@"\n`)
  await chmod(program, 0o755)
  const change = async (changing: (world: World) => void): Promise<void> => {
    changing(world)
    await keep()
  }
  return { folder, change }
}

/** `npm start` with a beacon, a model of its example, and the command that follows it. */
const ground = async () => {
  const server = await serveExample()
  const { url } = await server.logged('embedded Kubernetes API')
  const model = {
    ...emptyModel('b00'),
    applications: Object.fromEntries(
      ['details', 'productpage', 'beacon'].map((charm) => [charm, { charm, revision: 1, units: [0] }]),
    ),
    relations: [
      {
        id: 1,
        provider: { application: 'beacon', endpoint: 'mesh' },
        requirer: { application: 'details', endpoint: 'service-mesh' },
        interface: 'service_mesh',
      },
      {
        id: 3,
        provider: { application: 'details', endpoint: 'website' },
        requirer: { application: 'productpage', endpoint: 'backend' },
        interface: 'http',
      },
    ],
  }
  const { folder, change } = await standIn(createStandIn({ bookinfo: model }))
  const begin = (args: readonly string[], input = ''): Running => {
    const env = {
      ...{ PATH: `${folder}:${process.env.PATH}`, JUJU_DATA: folder, MESHSTEP_NAMESPACE: 'bookinfo' },
      ...{ MESHSTEP_SERVER: server.url, MESHSTEP_API: String(url), ...COMPILED },
    }
    const child = spawn(process.execPath, [COMMAND, ...args], { env })
    onTestFinished(() => void child.kill('SIGKILL'))
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      stderr += chunk
    })
    child.stdin.end(input)
    const ended = new Promise<Ran>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
    return { child, text: () => `${stdout}${stderr}`, ended }
  }
  const run = (args: readonly string[], input = '') => begin(args, input).ended
  expect(await run(['config', 'beacon', '-f', '-'], 'mesh: {}')).toMatchObject({ code: 0 })
  return { begin, run, change, server }
}

test('a model is shown, followed, and followed again when it changes', async () => {
  const { run, change, server } = await ground()
  const planned = await run(['juju', '--model', 'bookinfo', '--dry-run'])
  expect(planned.code).toBe(2)
  expect(planned.stdout).toContain('+ ConfigMap bookinfo/juju-relation-1\n')
  expect(planned.stdout).toContain('~ StatefulSet bookinfo/details\n')
  expect(await run(['juju', '--model', 'bookinfo'])).toEqual({
    ...{ code: 0, stderr: '' },
    stdout: '+ ConfigMap bookinfo/juju-relation-1\n+ ConfigMap bookinfo/juju-relation-3\n',
  })
  expect(await run(['juju', '--model', 'bookinfo'])).toEqual({ code: 0, stdout: 'nothing changed\n', stderr: '' })
  await settle(server)
  expect((await run(['get', 'relations'])).stdout).toMatch(/1 +service_mesh .* stands\n3 +http .* stands/)

  // removed by force: no hook of it ever ran
  await change(({ models: { bookinfo } }) => {
    if (bookinfo === undefined) return
    delete bookinfo.applications.details
    bookinfo.relations = []
  })
  const foreseen = await run(['juju', '--model', 'bookinfo', '--dry-run'])
  expect(foreseen.stdout).toContain('- ConfigMap bookinfo/juju-relation-1\n')
  expect(foreseen.stdout).toContain('~ StatefulSet bookinfo/details\n')
  expect(await run(['juju', '--model', 'bookinfo'])).toEqual({
    ...{ code: 0, stderr: '' },
    stdout:
      '- ConfigMap bookinfo/juju-relation-1\n- ConfigMap bookinfo/juju-relation-3\n- application bookinfo/details\n',
  })
  await settle(server)
  expect((await run(['get', 'relations'])).stdout).not.toContain('stands')
})

test('two commands that follow a model at once both end well, and leave what one leaves', async () => {
  const { run } = await ground()
  const both = await Promise.all(['first', 'second'].map(() => run(['juju', '--model', 'bookinfo'])))
  expect(both.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ])
  const made = both.flatMap(({ stdout }) => stdout.match(/^. ConfigMap \S+$/gm) ?? [])
  expect([...new Set(made)].toSorted()).toEqual([
    '+ ConfigMap bookinfo/juju-relation-1',
    '+ ConfigMap bookinfo/juju-relation-3',
  ])
  expect(await run(['juju', '--model', 'bookinfo'])).toEqual({ code: 0, stdout: 'nothing changed\n', stderr: '' })
})

test('a model that cannot be read changes nothing, and says what to do', async () => {
  const { run, change } = await ground()
  await run(['juju', '--model', 'bookinfo'])
  await change((world) => {
    world.isUp = false
  })
  const { code, stdout, stderr } = await run(['juju', '--model', 'bookinfo'])
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^error: juju status .* connection refused \(is the controller up\? juju show-controller/)
  expect((await run(['juju', '--model', 'bookinfo', '--dry-run'])).code).toBe(1)
  await change((world) => {
    world.isUp = true
  })
  expect((await run(['juju', '--model', 'nope'])).stderr).toContain(
    'juju models lists the models; name one with --model',
  )
  expect((await run(['juju', '--model', 'bookinfo', '--juju', '/nowhere/juju'])).stderr).toContain('snap install juju')
  expect(await run(['juju', '--model', 'bookinfo'])).toMatchObject({ code: 0, stdout: 'nothing changed\n' })
})

test('a model is watched: changes are followed, failures are said, and a signal ends it', async () => {
  const { begin, change } = await ground()
  const watching = begin(['juju', '--model', 'bookinfo', '--watch', '--every', '1s'])
  await until('the documents are made', () => watching.text().includes('+ ConfigMap bookinfo/juju-relation-3'))
  await change((world) => {
    world.isLoggedIn = false
  })
  await until('the failure is said', () => watching.text().includes('log in again with juju login'))
  await change((world) => {
    world.isLoggedIn = true
    world.models.bookinfo?.relations.pop()
  })
  await until('the document is gone', () => watching.text().includes('- ConfigMap bookinfo/juju-relation-3'), 20_000)
  watching.child.kill('SIGTERM')
  expect((await watching.ended).code).toBe(0)
})

test('a watch says what it does not know, once, and goes on at its pace', async () => {
  const { begin, run, change } = await ground()
  expect((await run(['juju', '--model', 'bookinfo'])).code).toBe(0)
  await change(({ models: { bookinfo } }) => {
    if (bookinfo === undefined) return
    const offer = { application: '', endpoint: 'dashboards', interface: 'http', role: 'provider' } as const
    bookinfo.saas = { grafana: { ...offer, url: 'admin/obs.grafana' } }
    bookinfo.crossRelations = [
      { id: 4, application: 'details', endpoint: 'dashboards', alias: 'grafana', other: 'dashboards' },
    ]
  })
  const watching = begin(['juju', '--model', 'bookinfo', '--watch', '--every', '1s'])
  const said = () => watching.text().split('the application behind admin/obs.grafana is missing').length - 1
  await until('the relation is named', () => said() === 1)
  await change(({ models: { bookinfo } }) => void bookinfo?.relations.pop())
  await until('the next round is done', () => watching.text().includes('- ConfigMap bookinfo/juju-relation-3'))
  watching.child.kill('SIGTERM')
  expect((await watching.ended).code).toBe(0)
})

test('documents are printed, of the model or of recorded outputs, and not applied', async () => {
  const { run } = await ground()
  const printed = await run(['juju', '--model', 'bookinfo', '--print'])
  expect(printed).toMatchObject({ code: 0, stderr: '' })
  expect(printed.stdout.match(/name: juju-relation-\d/g)).toEqual(['name: juju-relation-1', 'name: juju-relation-3'])
  const folder = await temporaryDirectory()
  const recorded = ['status', 'relations', 'units'].map((name) => join(folder, name))
  for (const [index, said] of [model.status, model.relations, model.units].entries())
    await writeFile(recorded[index] ?? '', typeof said === 'string' ? said : JSON.stringify(said))
  const { code, stdout } = await run(['-o', 'json', 'juju', ...recorded])
  expect([code, JSON.parse(stdout).items.length]).toEqual([0, 3])
  expect(await run(['juju', ...recorded.slice(0, 1)])).toMatchObject({
    ...{ code: 2, stdout: '' },
    stderr: expect.stringContaining('add juju show-unit --format json beacon/0'),
  })
  expect((await run(['get', 'relations'])).stdout).not.toContain('stands')
})
