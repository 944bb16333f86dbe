import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { evaluate } from '@marcbachmann/cel-js'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

const load = createRequire(import.meta.url)
const textOf = (path: string): string => readFileSync(path, 'utf8')
const help = (command: string): string =>
  execFileSync('node', ['meshstep.mjs', command, '--help'], { encoding: 'utf8' })

describe('what pipelines take', () => {
  test('the GitHub action is one', () => {
    const { validateAction } = load('@action-validator/core')
    expect(validateAction(textOf('action.yml')).errors).toEqual([])
    expect(validateAction('name: x\nruns: { using: odd }').errors).not.toEqual([])
  })

  test('each input of the GitHub action is used, and each one that is used is there', () => {
    const action = parse(textOf('action.yml'))
    const used = [...textOf('action.yml').matchAll(/inputs\.([-\w]+)/g)].map(([, name]) => name)
    expect(new Set(used)).toEqual(new Set(Object.keys(action.inputs)))
  })

  test('the options that pipelines give are those of the command', () => {
    const texts = ['action.yml', '.pre-commit-hooks.yaml', 'examples/pipelines/gitlab-ci.yml'].map(textOf)
    const lines = texts.flatMap((text) =>
      text.split('\n').filter((line) => /meshstep(\.mjs"?)? (lint|plan) /.test(line)),
    )
    expect(lines).toHaveLength(5)
    const [lint, plan] = [help('lint'), help('plan')]
    for (const line of lines) {
      const known = line.includes(' lint ') ? lint : plan
      for (const option of line.match(/--[a-z-]+/g) ?? []) expect(known).toContain(option)
    }
  })

  test('the hook of pre-commit has the keys that pre-commit asks for', () => {
    const [hook, ...others] = parse(textOf('.pre-commit-hooks.yaml'))
    expect(others).toEqual([])
    expect(Object.keys(hook)).toEqual(['id', 'name', 'description', 'entry', 'language', 'require_serial', 'types_or'])
    expect(Object.keys(JSON.parse(textOf('package.json')).bin)).toContain(hook.entry.split(' ')[0])
  })
})

const LUA = ['/usr/bin/lua5.4', '/usr/bin/lua'].find((path) => existsSync(path))

describe.skipIf(LUA === undefined)('the health of documents in Argo CD (skipped without lua5.4)', () => {
  const script = parse(textOf('examples/gitops/argo-cd-cm.yaml')).data['resource.customizations.health.ConfigMap']
  const healthOf = (labels: string, data: string): string => {
    const object = `local obj = { metadata = { labels = ${labels} }, data = ${data} }`
    const program = `${object}\nlocal function health()\n${script}\nend\nlocal is = health()\nprint(is.status .. ": " .. (is.message or ""))`
    return execFileSync(LUA ?? '', ['-e', program], { encoding: 'utf8' }).trim()
  }

  test.each([
    ['nil', 'nil', 'Healthy:'],
    ['{ app = "web" }', 'nil', 'Healthy:'],
    ['{ ["meshstep.dev/kind"] = "config" }', '{ application = "web", config = "{}" }', 'Healthy:'],
    ['{ ["meshstep.dev/kind"] = "relation" }', '{ application = "web", relation = "{}" }', 'Healthy:'],
    ['{ ["meshstep.dev/kind"] = "config" }', 'nil', 'Degraded: the document names no application'],
    ['{ ["meshstep.dev/kind"] = "config" }', '{ application = "web" }', 'Degraded: the document has no config'],
    [
      '{ ["meshstep.dev/kind"] = "odd" }',
      '{ application = "web" }',
      'Degraded: meshstep.dev/kind is odd: expected config or relation',
    ],
  ])('labels %s and data %s: %s', (labels, data, health) => {
    expect(healthOf(labels, data)).toBe(health)
  })
})

type Check = { apiVersion: string; kind: string; failed?: string; current: string }

describe('the health in Flux', () => {
  const checks: Check[] = parseAllDocuments(textOf('examples/gitops/flux.yaml')).flatMap(
    (one) => one.toJS().spec.healthCheckExprs,
  )
  /** As Flux does, where an expression that cannot be evaluated waits as well: fluxcd/pkg/runtime/cel/status_evaluator.go */
  const healthOf = (kind: string, object: object): string => {
    const { failed = 'false', current = '' } = checks.find((one) => one.kind === kind) ?? {}
    try {
      if (evaluate(failed, { ...object })) return 'Failed'
      return evaluate(current, { ...object }) ? 'Current' : 'InProgress'
    } catch {
      return 'Unknown'
    }
  }

  test.each([
    ['Service', {}, 'Unknown'],
    ['Service', { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }, 'InProgress'],
    ['Trigger', { status: { conditions: [{ type: 'Ready', status: 'False' }] } }, 'InProgress'],
    ['Trigger', { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, 'Current'],
  ])('a %s with %j is %s', (kind, object, health) => {
    expect(healthOf(kind, object)).toBe(health)
  })

  test.each([
    [undefined, undefined, 'Current'],
    [{ app: 'web' }, {}, 'Current'],
    [{ 'meshstep.dev/kind': 'config' }, { application: 'web', config: '{}' }, 'Current'],
    [{ 'meshstep.dev/kind': 'relation' }, { application: 'web', relation: '{}' }, 'Current'],
    [{ 'meshstep.dev/kind': 'config' }, undefined, 'Unknown'],
    [{ 'meshstep.dev/kind': 'config' }, { config: '{}' }, 'Failed'],
    [{ 'meshstep.dev/kind': 'config' }, { application: '', config: '{}' }, 'Failed'],
    [{ 'meshstep.dev/kind': 'config' }, { application: 'web' }, 'Failed'],
    [{ 'meshstep.dev/kind': 'odd' }, { application: 'web', odd: '{}' }, 'Failed'],
  ])('a ConfigMap with labels %j and data %j is %s', (labels, data, health) => {
    expect(healthOf('ConfigMap', { metadata: { ...(labels && { labels }) }, ...(data && { data }) })).toBe(health)
  })
})
