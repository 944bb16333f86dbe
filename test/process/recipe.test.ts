import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const EVENT = 'pod-paused'
const TYPE = `dev.meshstep.${EVENT}.v1`

const [, recipe = ''] = readFileSync('docs/contributing.md', 'utf8').split('\n## A new event\n')
const numbered = (recipe.split('\n## ')[0] ?? '').match(/^\d\. .*(?:\n {3}.*)*/gm) ?? []

/** The files that the steps of the recipe name, in their order. */
const steps = numbered.map((step) =>
  [...step.matchAll(/`([\w/-]+\.(?:ts|yaml|md))`/g)].map(([, file = '']) => file.replace('NAME', EVENT)),
)

const FUNCTION = `import * as z from 'zod'
import { defineFunction } from '../src/core/events/event-function.ts'

/** A pod pauses. */
export const podPaused = defineFunction({
  name: '${EVENT}',
  data: { pod: z.string().min(1) },
  fold: (state) => ({ state }),
})
`

/** The Service and the Trigger of a function in the manifests, and its account. */
const withManifests = (text: string): string => {
  const [all = '', accounts = ''] = text.split('# The ServiceAccounts')
  const own = all
    .split(/^---\n/m)
    .filter((part) => part.includes('name: meshstep-relation-broken\n'))
    .map((part) => part.replace(/ +- exact: .*resource.delete.*\n/, '').replaceAll('relation-broken', EVENT))
  const account = `  - kind: ServiceAccount\n    name: meshstep-${EVENT}-oidc-eventing.knative.dev-trigger\n`
  return `${all}${own.join('---\n')}---\n# The ServiceAccounts${accounts}${account}`
}

/** The change of each file that the recipe asks for. */
const EDITS: Readonly<Record<string, (text: string) => string>> = {
  [`functions/${EVENT}.ts`]: () => FUNCTION,
  'functions/index.ts': (text) =>
    text
      .replace('import { relationBroken', `import { podPaused } from './${EVENT}.ts'\nimport { relationBroken`)
      .replace('  podRestarted,\n', '  podRestarted,\n  podPaused,\n'),
  'knative/base/trigger.yaml': (text) =>
    text.replace(/( +- exact: { type: )dev\.meshstep\.resync\.v1 }\n/, (line, start) => `${line}${start}${TYPE} }\n`),
  'knative/components/functions/functions.yaml': withManifests,
  'knative/components/authentication/event-policy.yaml': (text) =>
    text.replace(
      /( +- sub: .*:meshstep-)pod-restarted(-oidc.*\n)/,
      (line, start, end) => `${line}${start}${EVENT}${end}`,
    ),
  'src/serve/schemas/meanings.ts': (text) =>
    text.replace("  'pod-restarted': {\n", `  '${EVENT}': { ...subject, pod: 'The pod that pauses.' },\n$&`),
  'docs/events.md': (text) => text.replace('| `pod-restarted` |', `| \`${EVENT}\` | \`pod\` | a pod pauses |\n$&`),
}

const [DOCS, TRIGGERS, MANIFESTS] = [
  'test/docs.test.ts',
  'test/knative/triggers.test.ts',
  'test/knative/documents.test.ts',
]
const CHECKS = [DOCS, TRIGGERS, MANIFESTS, 'test/serve/schemas/schemas.test.ts']

/** The test that notices that the change of a file is left out; the reference cannot be written without the others. */
const NOTICED_BY: Readonly<Record<string, string>> = {
  'functions/index.ts': TRIGGERS,
  'knative/base/trigger.yaml': TRIGGERS,
  'knative/components/functions/functions.yaml': TRIGGERS,
  'knative/components/authentication/event-policy.yaml': MANIFESTS,
  'docs/events.md': DOCS,
}
const NOT_COPIED = ['node_modules', '.git', 'dist', 'lib', 'site', 'release']

const copy = mkdtempSync(join(tmpdir(), 'meshstep-recipe-'))
cpSync('.', copy, { recursive: true, filter: (file) => !NOT_COPIED.includes(relative('.', file)) })
symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
afterAll(() => rmSync(copy, { recursive: true, force: true }))

const run = (...words: string[]) =>
  spawnSync(process.execPath, words, { cwd: copy, encoding: 'utf8', env: { ...process.env, TESTS: 'all' } })

/** Follows the recipe in the copy but for one file; answers if the reference is written, and the tests pass. */
const follow = (left?: string): { isWritten: boolean; passes: boolean } => {
  for (const [file, edit] of Object.entries(EDITS)) {
    const isNew = file === `functions/${EVENT}.ts`
    const before = isNew ? '' : readFileSync(file, 'utf8')
    if (file !== left) writeFileSync(join(copy, file), edit(before))
    else if (isNew) rmSync(join(copy, file), { force: true })
    else writeFileSync(join(copy, file), before)
  }
  const checks = left === undefined ? CHECKS : [NOTICED_BY[left] ?? []].flat()
  const isWritten = run('schemas.ts').status === 0
  return {
    isWritten,
    passes: isWritten && run('node_modules/vitest/vitest.mjs', 'run', '--bail', '1', ...checks).status === 0,
  }
}

test('the recipe of a new event names each file that has to change', () => {
  expect(steps.flat().toSorted()).toEqual(Object.keys(EDITS).toSorted())
  for (const [file, edit] of Object.entries(EDITS)) {
    const before = file === `functions/${EVENT}.ts` ? '' : readFileSync(file, 'utf8')
    expect([file, edit(before)]).not.toEqual([file, before])
  }
})

test('an event that was added by the recipe passes the tests that the recipe promises', () => {
  expect(follow()).toEqual({ isWritten: true, passes: true })
})

test.each(steps.flat())('an event that was added by the recipe without its change of %s fails them', (file) => {
  expect(follow(file)).toEqual({ isWritten: file in NOTICED_BY, passes: false })
})
