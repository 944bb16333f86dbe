import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { Ajv } from 'ajv'
import { unpackTar } from 'modern-tar'
import { afterAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readComponents, render } from '../../tools/release/kustomize.ts'
import { cannotBuild } from './builds.ts'
import { renderTemplate } from './template.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const { version, dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const made = mkdtempSync(join(tmpdir(), 'meshstep-release-'))
afterAll(() => rmSync(made, { recursive: true }))

const NOT_COPIED = ['.git', 'node_modules', 'dist', 'lib', 'release', 'site']

/** Makes a release of a copy of this folder, and answers with its files. */
const releaseIn = async (name: string): Promise<Record<string, Buffer>> => {
  const folder = join(made, name)
  mkdirSync(folder)
  for (const entry of readdirSync(root).filter((one) => !NOT_COPIED.includes(one)))
    cpSync(join(root, entry), join(folder, entry), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  await run('npm', ['run', '--silent', 'release', '--', '--image', 'registry.test/meshstep:1'], {
    cwd: folder,
    env: { ...process.env, SOURCE_DATE_EPOCH: '1700000000' },
  })
  const release = join(folder, 'release')
  return Object.fromEntries(readdirSync(release).map((file) => [file, readFileSync(join(release, file))]))
}

const [one = {}, other = {}] = cannotBuild ? [] : await Promise.all(['one', 'another-place'].map(releaseIn))
const textOf = (file: string): string => String(one[file])

const unpack = async (bytes: Uint8Array): Promise<Record<string, string>> => {
  const entries = await unpackTar(bytes)
  return Object.fromEntries(entries.map(({ header, data }) => [header.name, Buffer.from(data ?? []).toString()]))
}
const chart = cannotBuild ? {} : await unpack(gunzipSync(one[`meshstep-chart-${version}.tgz`] ?? ''))
const components = (await readComponents()).map(({ name }) => name)
const toggles = components.filter((name) => !name.startsWith('broker-'))

type KubeObject = { kind: string; metadata: { name: string } }

const inOrder = (objects: readonly KubeObject[]): KubeObject[] =>
  objects.toSorted((a, b) => (`${a.kind} ${a.metadata.name}` < `${b.kind} ${b.metadata.name}` ? -1 : 1))

const objectsIn = (text: string): KubeObject[] =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? [])

const rendered = async (chosen: readonly string[]): Promise<KubeObject[]> =>
  inOrder(
    (await render({ namespace: 'shop', image: 'registry.test/other@sha256:0', components: chosen })).flatMap(
      ({ text }) => objectsIn(text),
    ),
  )

const valuesFor = (chosen: readonly string[]) => ({
  image: 'registry.test/other@sha256:0',
  broker: chosen.find((name) => name.startsWith('broker-'))?.replace('broker-', '') ?? 'default',
  components: Object.fromEntries(toggles.map((name) => [name, chosen.includes(name)])),
})

const CHOICES = [
  [],
  ['mesh'],
  ['broker-in-memory', 'mesh', 'leases'],
  ['broker-kafka', 'authentication'],
  ['functions', 'broker-kafka', 'network'],
  ['functions', ...toggles.filter((name) => name !== 'functions')],
  components.filter((name) => name !== 'broker-in-memory'),
]

describe.skipIf(cannotBuild)(`a release ${cannotBuild ?? ''}`, () => {
  test('is the same bytes wherever it is made', () => {
    expect(Object.keys(one)).toEqual([
      'SHA256SUMS',
      `meshstep-chart-${version}.tgz`,
      `meshstep-image-${version}.tar`,
      `meshstep-npm-${version}.tgz`,
      'meshstep.yaml',
      'sbom.cdx.json',
    ])
    for (const [file, bytes] of Object.entries(one)) expect([file, other[file]?.equals(bytes)]).toEqual([file, true])
  })

  test('has the checksum of each file', () => {
    const sums = Object.keys(one)
      .filter((file) => file !== 'SHA256SUMS')
      .map(
        (file) =>
          `${createHash('sha256')
            .update(one[file] ?? '')
            .digest('hex')}  ${file}`,
      )
    expect(textOf('SHA256SUMS').trim().split('\n').toSorted()).toEqual(sums.toSorted())
  })

  test("has the image's context: the Dockerfile and all that it copies", async () => {
    const files = Object.keys(await unpack(one[`meshstep-image-${version}.tar`] ?? Buffer.of()))
    const copied = [...readFileSync(join(root, 'Dockerfile'), 'utf8').matchAll(/^COPY (?!--)(.*) \S+$/gm)]
      .flatMap(([, sources = '']) => sources.split(' '))
      .concat('Dockerfile')
    const isCopied = (file: string) => copied.some((source) => file === source || file.startsWith(`${source}/`))
    expect(files.filter((file) => !isCopied(file))).toEqual([])
    expect(copied.filter((source) => !files.some((file) => file === source || file.startsWith(`${source}/`)))).toEqual(
      [],
    )
  })

  test('has manifests for the namespace meshstep, accounts first, with the image that was named', async () => {
    const objects = objectsIn(textOf('meshstep.yaml'))
    const wanted = await render({ namespace: 'meshstep', image: 'registry.test/meshstep:1', components: ['mesh'] })
    expect(inOrder(objects)).toEqual(inOrder(wanted.flatMap(({ text }) => objectsIn(text))))
    const kinds = objects.map(({ kind }) => kind)
    expect(kinds.lastIndexOf('ServiceAccount')).toBeLessThan(kinds.indexOf('Role'))
    expect(kinds.lastIndexOf('RoleBinding')).toBeLessThan(kinds.indexOf('Service'))
    expect(kinds.lastIndexOf('Service')).toBeLessThan(kinds.indexOf('Trigger'))
    expect(textOf('meshstep.yaml')).toContain('image: registry.test/meshstep:1')
  })

  test.each(CHOICES.map((chosen) => [chosen.join(' + ') || 'nothing', chosen] as const))(
    'has a chart that renders as kustomize does, with %s',
    async (_, chosen) => {
      const texts = Object.entries(chart)
        .filter(([file]) => file.startsWith('meshstep/templates/'))
        .map(([, template]) => renderTemplate(template, valuesFor(chosen), 'shop'))
      expect(inOrder(texts.flatMap(objectsIn))).toEqual(await rendered(chosen))
    },
  )

  test('has values that its schema takes, and that name each component', () => {
    const isValid = new Ajv({ strict: false }).compile(JSON.parse(chart['meshstep/values.schema.json'] ?? ''))
    const values = parse(chart['meshstep/values.yaml'] ?? '')
    expect([isValid(values), isValid.errors]).toEqual([true, null])
    expect(values.image).toBe('registry.test/meshstep:1')
    expect(Object.keys(values.components).toSorted()).toEqual(toggles.toSorted())
    expect(isValid({ ...values, broker: 'rabbit' })).toBe(false)
    expect(isValid({ ...values, components: { mash: true } })).toBe(false)
  })

  test('has a bill of materials of what is installed, without when and where it was made', () => {
    const bill = JSON.parse(textOf('sbom.cdx.json'))
    const names = bill.components.map(({ 'bom-ref': name }: { 'bom-ref': string }) => name)
    expect(names).toEqual(expect.arrayContaining(Object.entries(dependencies).map((pair) => pair.join('@'))))
    expect(names).not.toContain(`vitest@${devDependencies.vitest}`)
    expect([bill.bomFormat, bill.serialNumber, Object.keys(bill.metadata)]).toEqual([
      'CycloneDX',
      undefined,
      ['component'],
    ])
  })
})

test('a release without kubectl is refused, with what to install', () => {
  const { status, stderr } = spawnSync(process.execPath, ['tools/release.ts'], {
    cwd: root,
    env: { PATH: made, SOURCE_DATE_EPOCH: '1' },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining('There is no kubectl, whose kustomize renders knative/: install'),
  ])
})

const hasHelm = spawnSync('helm', ['version']).status === 0

test.skipIf(cannotBuild !== undefined || !hasHelm)(
  `Helm renders the chart as kustomize does${hasHelm ? '' : ': skipped, there is no helm here'}`,
  async () => {
    const file = join(made, 'chart.tgz')
    writeFileSync(file, one[`meshstep-chart-${version}.tgz`] ?? '')
    for (const chosen of CHOICES) {
      const values = join(made, 'values.json')
      writeFileSync(values, JSON.stringify(valuesFor(chosen)))
      const { stdout } = await run('helm', ['template', 'meshstep', file, '--namespace', 'shop', '--values', values])
      expect(inOrder(objectsIn(stdout))).toEqual(await rendered(chosen))
    }
  },
)
