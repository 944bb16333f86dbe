import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { archive, compressed, type Files, repacked } from './release/archive.ts'
import { createChart, DEFAULTS } from './release/chart.ts'
import { createExecutable, PLATFORMS } from './release/executable.ts'
import { krewManifest } from './release/krew.ts'
import { type Rendered, readComponents, render } from './release/kustomize.ts'
import { createProvenance, LOCAL_BUILDER, sha256 } from './release/provenance.ts'

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

/** What npm shows of a package, by the address of its repository. */
const withRepository = (repository: string | undefined) => (text: string) =>
  repository === undefined
    ? text
    : `${JSON.stringify({ ...JSON.parse(text), homepage: repository, repository, bugs: `${repository}/issues` }, null, 2)}\n`

/** Packs the npm package, and answers with its bytes, which are the same whatever the permissions of the files here. */
const packPackage = async (repository: string | undefined): Promise<Uint8Array> => {
  const folder = await mkdtemp(join(tmpdir(), 'meshstep-pack-'))
  await run('npm', ['pack', '--silent', '--pack-destination', folder])
  const [name = ''] = await readdir(folder)
  const bytes = await readFile(join(folder, name))
  await rm(folder, { recursive: true })
  return await repacked(bytes, { 'package/package.json': withRepository(repository) })
}

const readRelease = async () => {
  const { version, description } = JSON.parse(await readFile('package.json', 'utf8')) as Record<
    'version' | 'description',
    string
  >
  const { values } = parseArgs({
    options: {
      image: { type: 'string', default: `registry.example.com/meshstep:${version}` },
      builder: { type: 'string', default: LOCAL_BUILDER },
      /** The address of the repository, and that of the files of the release. None is made up. */
      repository: { type: 'string' },
      downloads: { type: 'string' },
      /** With single executables of the command. */
      executables: { type: 'boolean', default: false },
    },
  })
  return { version, description, ...values, moment: await readMoment(), components: await readComponents() }
}

const { version, description, image, builder, repository, downloads, moment, components, ...given } =
  await readRelease()
const chart = await createChart({ version, description, image, components })

const renderManifests = (chosen: readonly string[]) => render({ namespace: 'meshstep', image, components: chosen })

const manifests = (comment: string, objects: readonly Rendered[]): string =>
  `# meshstep ${version}, ${comment}\n${objects.map(({ text }) => text).join('---\n')}`

const defaults = await renderManifests(DEFAULTS)
const texts = new Set(defaults.map(({ text }) => text))
const ofMesh = (await renderManifests([...DEFAULTS, 'mesh'])).filter(({ text }) => !texts.has(text))
const inFolder = Object.fromEntries(Object.entries(chart).map(([path, text]) => [`meshstep/${path}`, text]))
const npmPackage = { file: `meshstep-npm-${version}.tgz`, bytes: await packPackage(repository) }
const licences = { LICENSE: await readFile('LICENSE'), 'NOTICES.txt': await readFile('lib/NOTICES.txt') }
const executables = await Promise.all(
  (given.executables ? PLATFORMS : []).map(async ({ platform, arch }) => ({
    arch,
    file: `meshstep-${platform}-${version}.tgz`,
    bytes: await compressed({ ...(await createExecutable(platform)), ...licences }, moment, 'meshstep'),
  })),
)
const files: Files = {
  'meshstep.yaml': manifests(
    'for the namespace meshstep: kubectl create namespace meshstep && kubectl apply --filename meshstep.yaml',
    defaults,
  ),
  'meshstep-mesh.yaml': manifests(
    'what the functions of the namespace meshstep need beyond it, with meshstep.yaml: policies in every namespace',
    ofMesh,
  ),
  'meshstep-without-authentication.yaml': manifests(
    'WITHOUT AUTHENTICATION: whoever reaches the broker or the functions acts for every application of the namespace meshstep',
    await renderManifests([]),
  ),
  [`meshstep-chart-${version}.tgz`]: await compressed(inFolder, moment),
  [`meshstep-image-${version}.tar`]: await archive(await readContext(), moment),
  [npmPackage.file]: npmPackage.bytes,
  ...Object.fromEntries(executables.map(({ file, bytes }) => [file, bytes])),
  ...(downloads && {
    'meshstep.krew.yaml': krewManifest({ version, description, downloads, repository, executables, ...npmPackage }),
  }),
  'sbom.cdx.json': await readFile('lib/sbom.cdx.json'),
}
const sourceDateEpoch = String(moment.getTime() / 1_000)
const released: Files = {
  ...files,
  'provenance.intoto.json': await createProvenance(files, {
    ...{ builder, image, sourceDateEpoch },
    ...(repository && { repository }),
    ...(downloads && { downloads }),
    ...(given.executables && { executables: 'true' }),
  }),
}
const sums = Object.entries(released).map(([name, bytes]) => `${sha256(bytes)}  ${name}\n`)

await rm(FOLDER, { recursive: true, force: true })
await mkdir(FOLDER)
for (const [name, bytes] of Object.entries({ ...released, SHA256SUMS: sums.join('') }))
  await writeFile(join(FOLDER, name), bytes)
