import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { archive, compressed, type Files } from './release/archive.ts'
import { createBill } from './release/bill.ts'
import { createChart, DEFAULTS } from './release/chart.ts'
import { readComponents, render } from './release/kustomize.ts'

const run = promisify(execFile)

const FOLDER = 'release'

/** The moment that all files carry: SOURCE_DATE_EPOCH, or that of the last commit. */
const readMoment = async (): Promise<Date> => {
  const { SOURCE_DATE_EPOCH } = process.env
  const seconds = SOURCE_DATE_EPOCH ?? (await run('git', ['log', '-1', '--format=%ct'])).stdout
  return new Date(Number(seconds) * 1_000)
}

const filesBelow = async (path: string): Promise<string[]> => {
  if (!(await stat(path)).isDirectory()) return [path]
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** The Dockerfile and what it copies, which is what .dockerignore lets through. */
const readContext = async (): Promise<Files> => {
  const paths = [...(await readFile('.dockerignore', 'utf8')).matchAll(/^!(.*)$/gm)].map(([, path = '']) => path)
  const files = (await Promise.all(['Dockerfile', ...paths].map(filesBelow))).flat()
  return Object.fromEntries(await Promise.all(files.map(async (path) => [path, await readFile(path)] as const)))
}

/** Packs the npm package, and answers with its bytes. */
const packPackage = async (): Promise<Uint8Array> => {
  const folder = await mkdtemp(join(tmpdir(), 'meshstep-pack-'))
  await run('npm', ['pack', '--silent', '--pack-destination', folder])
  const [name = ''] = await readdir(folder)
  const bytes = await readFile(join(folder, name))
  await rm(folder, { recursive: true })
  return bytes
}

const readRelease = async () => {
  const { version, description } = JSON.parse(await readFile('package.json', 'utf8')) as Record<
    'version' | 'description',
    string
  >
  const { values } = parseArgs({
    options: { image: { type: 'string', default: `registry.example.com/meshstep:${version}` } },
  })
  return { version, description, image: values.image, moment: await readMoment(), components: await readComponents() }
}

const { version, description, image, moment, components } = await readRelease()
const chart = await createChart({ version, description, image, components })
const objects = await render({ namespace: 'meshstep', image, components: DEFAULTS })
const inFolder = Object.fromEntries(Object.entries(chart).map(([path, text]) => [`meshstep/${path}`, text]))
const files: Files = {
  'meshstep.yaml': `# meshstep ${version}, for the namespace meshstep: kubectl create namespace meshstep && kubectl apply --filename meshstep.yaml\n${objects.map(({ text }) => text).join('---\n')}`,
  [`meshstep-chart-${version}.tgz`]: await compressed(inFolder, moment),
  [`meshstep-image-${version}.tar`]: await archive(await readContext(), moment),
  [`meshstep-npm-${version}.tgz`]: await packPackage(),
  'sbom.cdx.json': await createBill(),
}
const sums = Object.entries(files).map(
  ([name, bytes]) => `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`,
)

await rm(FOLDER, { recursive: true, force: true })
await mkdir(FOLDER)
for (const [name, bytes] of Object.entries({ ...files, SHA256SUMS: sums.join('') }))
  await writeFile(join(FOLDER, name), bytes)
