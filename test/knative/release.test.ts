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
import * as z from 'zod'
import { SETTINGS } from '../../tools/release/chart-values.ts'
import { readComponents, render } from '../../tools/release/kustomize.ts'
import { cannotBuild } from './builds.ts'
import { packagesOfSources } from './packages-of-sources.ts'
import { renderTemplate } from './template.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const { version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const made = mkdtempSync(join(tmpdir(), 'meshstep-release-'))
afterAll(() => rmSync(made, { recursive: true }))

const NOT_COPIED = ['.git', 'node_modules', 'dist', 'lib', 'release', 'site']

const NOBODY = { NAME: 'nobody', EMAIL: 'nobody@example.com', DATE: '@1700000000 +0000' }
const GIT = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  ...Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) =>
      Object.entries(NOBODY).map(([key, value]) => [`GIT_${who}_${key}`, value]),
    ),
  ),
}
const COMMIT = 'git init --quiet && git add --all && git commit --quiet --message first'
const HOME = 'https://git.test/meshstep'
const DOWNLOADS = 'https://files.test/v1'
const RELEASE = `npm run --silent release -- --image registry.test/meshstep:1 --builder https://builder.test/v1 --repository ${HOME} --downloads ${DOWNLOADS}`

/** Makes a release of a copy of this folder, checked out and made with a umask, and answers with its files. */
const releaseIn = async (name: string, umask: string): Promise<Record<string, Buffer>> => {
  const folder = join(made, name)
  mkdirSync(folder)
  for (const entry of readdirSync(root).filter((one) => !NOT_COPIED.includes(one)))
    cpSync(join(root, entry), join(folder, entry), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  // a checkout gives each file the permissions that the umask leaves
  const checkout = 'chmod -R go-rwx . && chmod -R +rX .'
  await run('sh', ['-c', `umask ${umask} && ${checkout} && ${COMMIT} && ${RELEASE}`], {
    cwd: folder,
    env: { ...process.env, ...GIT, SOURCE_DATE_EPOCH: '1700000000' },
  })
  const release = join(folder, 'release')
  return Object.fromEntries(readdirSync(release).map((file) => [file, readFileSync(join(release, file))]))
}

const [one = {}, other = {}] = cannotBuild
  ? []
  : await Promise.all([releaseIn('one', '022'), releaseIn('another-place', '077')])
const textOf = (file: string): string => String(one[file])

const unpack = async (bytes: Uint8Array): Promise<Record<string, string>> => {
  const entries = await unpackTar(bytes)
  return Object.fromEntries(entries.map(({ header, data }) => [header.name, Buffer.from(data ?? []).toString()]))
}
const chart = cannotBuild ? {} : await unpack(gunzipSync(one[`meshstep-chart-${version}.tgz`] ?? ''))
const components = (await readComponents()).map(({ name }) => name)
const toggles = components.filter((name) => !name.startsWith('broker-'))

const IMAGES = { image: 'registry.test/other@sha256:0', jujuImage: 'registry.test/juju:2' }

type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] }

/** What a rule lets somebody write; a review is a question. */
const writes = ({ resources, verbs }: Rule): string[] =>
  verbs.some((verb) => !['get', 'list', 'watch'].includes(verb))
    ? resources.filter((resource) => !resource.endsWith('reviews'))
    : []

type KubeObject = { kind: string; metadata: { name: string } }

const inOrder = (objects: readonly KubeObject[]): KubeObject[] =>
  objects.toSorted((a, b) => (`${a.kind} ${a.metadata.name}` < `${b.kind} ${b.metadata.name}` ? -1 : 1))

const objectsIn = (text: string): KubeObject[] =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? [])

const rendered = async (chosen: readonly string[]): Promise<KubeObject[]> =>
  inOrder((await render({ namespace: 'shop', ...IMAGES, components: chosen })).flatMap(({ text }) => objectsIn(text)))

const valuesFor = (chosen: readonly string[]) => ({
  ...IMAGES,
  ...Object.fromEntries(Object.entries(SETTINGS).map(([name, { default: value }]) => [name, value])),
  broker: chosen.find((name) => name.startsWith('broker-'))?.replace('broker-', '') ?? 'default',
  components: Object.fromEntries(toggles.map((name) => [name, chosen.includes(name)])),
})

/** A list without entries is null in YAML, which the API server takes as absent. */
const withoutNull = (_: string, value: unknown) => (value === null ? undefined : value)

const objectsOf = (values: Readonly<Record<string, unknown>>): KubeObject[] =>
  Object.entries(chart)
    .filter(([file]) => /^meshstep\/templates\/[^/]+\.yaml$/.test(file))
    .flatMap(([, template]) => objectsIn(renderTemplate(template, values, 'shop')))
    .map((object) => JSON.parse(JSON.stringify(object), withoutNull))

const Digest = z.record(z.string(), z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$/))
const Uri = z.string().regex(/^[a-z]+:\S+$/)

/** An in-toto Statement v1 with a SLSA provenance v1, without what changes from run to run: times, and the id of an invocation. */
const Statement = z.strictObject({
  _type: z.literal('https://in-toto.io/Statement/v1'),
  subject: z.array(z.strictObject({ name: z.string().min(1), digest: Digest })).min(1),
  predicateType: z.literal('https://slsa.dev/provenance/v1'),
  predicate: z.strictObject({
    buildDefinition: z.strictObject({
      buildType: Uri,
      externalParameters: z.record(z.string(), z.string()),
      resolvedDependencies: z.array(
        z.strictObject({ uri: Uri.optional(), name: z.string().optional(), digest: Digest }),
      ),
    }),
    runDetails: z.strictObject({ builder: z.strictObject({ id: Uri }) }),
  }),
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
  test('a release is the same bytes wherever it is made, and with any umask', () => {
    expect(Object.keys(one)).toEqual([
      'SHA256SUMS',
      `meshstep-chart-${version}.tgz`,
      `meshstep-image-${version}.tar`,
      'meshstep-mesh.yaml',
      `meshstep-npm-${version}.tgz`,
      'meshstep-without-authentication.yaml',
      'meshstep.krew.yaml',
      'meshstep.yaml',
      'provenance.intoto.json',
      'sbom.cdx.json',
    ])
    for (const [file, bytes] of Object.entries(one)) expect([file, other[file]?.equals(bytes)]).toEqual([file, true])
  })

  test('a release has a manifest for krew with the digest of the package, whose home is the one that was named', async () => {
    const manifest = parse(textOf('meshstep.krew.yaml'))
    const file = `meshstep-npm-${version}.tgz`
    const bytes = one[file] ?? Buffer.of()
    expect(manifest.spec).toMatchObject({ version: `v${version}`, homepage: HOME })
    const [platform] = manifest.spec.platforms
    expect(platform).toMatchObject({
      ...{ uri: `${DOWNLOADS}/${file}`, sha256: createHash('sha256').update(bytes).digest('hex') },
    })
    const files = await unpack(gunzipSync(bytes))
    expect(Object.keys(files)).toContain(`package/${platform.bin}`)
    expect(JSON.parse(files['package/package.json'] ?? '')).toMatchObject({
      ...{ homepage: HOME, repository: HOME, bugs: `${HOME}/issues` },
    })
  })

  test('a release has the checksum of each file', () => {
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

  test("a release has the image's context: the Dockerfile and all that it copies", async () => {
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

  test.each([
    ['meshstep.yaml', ['meshstep.yaml'], ['authentication']],
    ['meshstep.yaml and meshstep-mesh.yaml', ['meshstep.yaml', 'meshstep-mesh.yaml'], ['authentication', 'mesh']],
    ['meshstep-without-authentication.yaml', ['meshstep-without-authentication.yaml'], []],
    [
      'meshstep-without-authentication.yaml and meshstep-mesh.yaml',
      ['meshstep-without-authentication.yaml', 'meshstep-mesh.yaml'],
      ['mesh'],
    ],
  ])('a release has, in %s, the manifests for the namespace meshstep of these components', async (_, files, chosen) => {
    const wanted = await render({ namespace: 'meshstep', image: 'registry.test/meshstep:1', components: chosen })
    const objects = files.flatMap((file) => objectsIn(textOf(file)))
    expect(inOrder(objects)).toEqual(inOrder(wanted.flatMap(({ text }) => objectsIn(text))))
  })

  test('a release has manifests that check who sends, and that write in no other namespace, unless their names say otherwise', () => {
    const saying = (text: string): string[] =>
      ['EVENT_AUDIENCE', 'ValidatingAdmissionPolicyBinding', 'EventPolicy', 'audience: meshstep.meshstep'].filter(
        (sign) => text.includes(sign),
      )
    const everywhere = (text: string): string[] =>
      objectsIn(text).flatMap((object) =>
        object.kind === 'ClusterRole' ? (object as unknown as { rules: Rule[] }).rules.flatMap(writes) : [],
      )
    const files = Object.keys(one).filter((file) => file.endsWith('.yaml') && !file.endsWith('.krew.yaml'))
    expect(files.map((file) => [file, saying(textOf(file)).length, everywhere(textOf(file))])).toEqual([
      ['meshstep-mesh.yaml', 0, ['authorizationpolicies']],
      ['meshstep-without-authentication.yaml', 0, []],
      ['meshstep.yaml', 4, []],
    ])
    expect(textOf('meshstep-without-authentication.yaml')).toMatch(/^# .*WITHOUT AUTHENTICATION/)
  })

  test('a release has manifests with accounts first, and the image that was named', () => {
    const objects = objectsIn(textOf('meshstep.yaml'))
    const kinds = objects.map(({ kind }) => kind)
    expect(kinds.lastIndexOf('ServiceAccount')).toBeLessThan(kinds.indexOf('Role'))
    expect(kinds.lastIndexOf('RoleBinding')).toBeLessThan(kinds.indexOf('Service'))
    expect(kinds.lastIndexOf('Service')).toBeLessThan(kinds.indexOf('Trigger'))
    expect(textOf('meshstep.yaml')).toContain('image: registry.test/meshstep:1')
  })

  test.each(CHOICES.map((chosen) => [chosen.join(' + ') || 'nothing', chosen] as const))(
    'a release has a chart that renders as kustomize does, with %s',
    async (_, chosen) => {
      expect(inOrder(objectsOf(valuesFor(chosen)))).toEqual(await rendered(chosen))
    },
  )

  test('a release has a chart with one template for each object, in which each component changes its own lines', () => {
    const templates = Object.entries(chart).filter(([file]) => /^meshstep\/templates\/[^/]+\.yaml$/.test(file))
    const kinds = templates.map(([file, text]) => [file, text.match(/^kind: /gm)?.length])
    expect(kinds.filter(([, count]) => count !== 1)).toEqual([])
  })

  test('a release has a chart whose values reach the functions, their accounts and the Trigger', () => {
    const values = {
      ...valuesFor(['authentication']),
      env: [{ name: 'LOG_LEVEL', value: 'debug' }],
      ...{ prometheus: 'http://prometheus', otlp: 'http://otlp', resources: { limits: { cpu: '2' } } },
      ...{ scaling: { max: 3, concurrency: 7 }, delivery: { retry: 2 }, imagePullSecrets: [{ name: 'pull' }] },
      ...{ nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'a' }], serviceAccountAnnotations: { 'a/b': 'c' } },
    }
    const objects = objectsOf(values)
    const find = (kind: string, name = 'meshstep') =>
      objects.find((one) => one.kind === kind && one.metadata.name === name) as never as {
        metadata: { annotations: object }
        spec: { delivery: object; template: { metadata: { annotations: object }; spec: Record<string, unknown> } }
      }
    const { metadata, spec } = find('Service').spec.template
    expect(metadata.annotations).toMatchObject({ 'autoscaling.knative.dev/max-scale': '3' })
    expect(spec).toMatchObject({
      ...{ containerConcurrency: 7, imagePullSecrets: [{ name: 'pull' }], nodeSelector: { disk: 'ssd' } },
      tolerations: [{ key: 'a' }],
      containers: [
        {
          resources: { limits: { cpu: '2' } },
          env: [
            { name: 'EVENT_AUDIENCE' },
            { name: 'PROMETHEUS_URL', value: 'http://prometheus' },
            { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://otlp' },
            { name: 'LOG_LEVEL', value: 'debug' },
          ],
        },
      ],
    })
    expect(find('Trigger').spec.delivery).toEqual({ retry: 2 })
    expect(find('ServiceAccount').metadata.annotations).toEqual({ 'a/b': 'c' })
  })

  test('a release has a chart that says which Kubernetes it needs, what each value is, and how it is tested', () => {
    expect(parse(chart['meshstep/Chart.yaml'] ?? '')).toMatchObject({ kubeVersion: '>=1.30.0-0' })
    for (const name of Object.keys(SETTINGS)) expect(chart['meshstep/README.md']).toContain(`| \`${name}\` |`)
    expect(chart['meshstep/templates/NOTES.txt']).toContain('helm test')
    const [pod] = objectsIn(
      renderTemplate(chart['meshstep/templates/tests/functions-ready.yaml'] ?? '', valuesFor([]), 'shop'),
    )
    expect(pod).toMatchObject({ kind: 'Pod', metadata: { namespace: 'shop', annotations: { 'helm.sh/hook': 'test' } } })
  })

  test('a release has values that its schema takes, and that name each component', () => {
    const isValid = new Ajv({ strict: false }).compile(JSON.parse(chart['meshstep/values.schema.json'] ?? ''))
    const values = parse(chart['meshstep/values.yaml'] ?? '')
    expect([isValid(values), isValid.errors]).toEqual([true, null])
    expect(values.image).toBe('registry.test/meshstep:1')
    expect(Object.keys(values.components).toSorted()).toEqual(toggles.toSorted())
    expect(Object.keys(values.components).filter((name) => values.components[name])).toEqual(['authentication'])
    expect(isValid({ ...values, broker: 'rabbit' })).toBe(false)
    expect(isValid({ ...values, components: { mash: true } })).toBe(false)
  })

  test('a release has a schema that refuses null, also where Helm has taken the value out for it', () => {
    const isValid = new Ajv({ strict: false }).compile(JSON.parse(chart['meshstep/values.schema.json'] ?? ''))
    const values = parse(chart['meshstep/values.yaml'] ?? '')
    const taken = (name: string, from: object) =>
      Object.fromEntries(Object.entries(from).filter(([key]) => key !== name))
    for (const name of Object.keys(values))
      expect([name, isValid({ ...values, [name]: null }), isValid(taken(name, values))]).toEqual([name, false, false])
    for (const name of Object.keys(values.components))
      for (const chosen of [{ ...values.components, [name]: null }, taken(name, values.components)])
        expect([name, isValid({ ...values, components: chosen })]).toEqual([name, false])
  })

  describe('has a provenance', () => {
    const statement = cannotBuild ? undefined : Statement.parse(JSON.parse(textOf('provenance.intoto.json')))
    const { buildDefinition, runDetails } = statement?.predicate ?? {}

    test('a release has a provenance that names each file of the release by its digest', () => {
      const digests = Object.keys(one)
        .filter((file) => !['SHA256SUMS', 'provenance.intoto.json'].includes(file))
        .map((file) => [
          file,
          createHash('sha256')
            .update(one[file] ?? '')
            .digest('hex'),
        ])
      expect(Object.fromEntries(statement?.subject.map(({ name, digest }) => [name, digest.sha256]) ?? [])).toEqual(
        Object.fromEntries(digests),
      )
    })

    test('a release has a provenance that says who made it of which commit, with what it was told', async () => {
      const { stdout } = await run('git', ['rev-parse', 'HEAD'], { cwd: join(made, 'one') })
      expect(runDetails?.builder.id).toBe('https://builder.test/v1')
      expect(buildDefinition?.externalParameters).toEqual({
        image: 'registry.test/meshstep:1',
        sourceDateEpoch: '1700000000',
        ...{ repository: HOME, downloads: DOWNLOADS },
      })
      expect(buildDefinition?.resolvedDependencies[0]).toEqual({ name: 'source', digest: { gitCommit: stdout.trim() } })
    })

    test('a release has a provenance that names all packages of the lock file, by the digests that npm checks', () => {
      const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
      const { packages } = JSON.parse(lock) as { packages: Record<string, { version: string; integrity?: string }> }
      const wanted = Object.entries(packages).flatMap(([path, { version, integrity }]) =>
        integrity === undefined ? [] : [`${path.split('node_modules/').at(-1)}@${version} ${integrity}`],
      )
      const [, lockFile, ...named] = buildDefinition?.resolvedDependencies ?? []
      expect(lockFile?.digest.sha256).toBe(createHash('sha256').update(lock).digest('hex'))
      const found = named.map(({ uri = '', digest: { sha512 = '' } }) => {
        const name = uri.replace(/^pkg:npm\//, '').replace('%40', '@')
        return `${name} sha512-${Buffer.from(sha512, 'hex').toString('base64')}`
      })
      expect(found.toSorted()).toEqual([...new Set(wanted)].toSorted())
    })
  })

  test('a release has a bill of materials of what the package has inside, without when and where it was made', () => {
    const bill = JSON.parse(textOf('sbom.cdx.json'))
    const names = bill.components.map(({ purl }: { purl: string }) => purl.replace('pkg:npm/', '').replace('%40', '@'))
    expect(names).toEqual(expect.arrayContaining(packagesOfSources.map((name) => `${name}@${devDependencies[name]}`)))
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
      const objects = objectsIn(stdout).filter(({ metadata }) => metadata.name !== 'meshstep-test')
      const inForm = objects.map((object) => JSON.parse(JSON.stringify(object), withoutNull))
      expect(inOrder(inForm)).toEqual(await rendered(chosen))
    }
  },
)
