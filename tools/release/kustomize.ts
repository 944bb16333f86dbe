import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'

const run = promisify(execFile)

const ROOT = 'knative'

/** A folder of `knative/components`, and what its kustomization says of it at its head. */
export type Component = { readonly name: string; readonly description: string }

/** The components; `functions` comes first, as others change what it adds. */
export const readComponents = async (): Promise<Component[]> => {
  const names = (await readdir(`${ROOT}/components`)).toSorted(
    (one, other) => Number(other === 'functions') - Number(one === 'functions') || (one < other ? -1 : 1),
  )
  return await Promise.all(
    names.map(async (name) => {
      const text = await readFile(`${ROOT}/components/${name}/kustomization.yaml`, 'utf8')
      const [comment = ''] = /^(#.*\n)*/.exec(text) ?? []
      return { name, description: comment.replaceAll(/^# /gm, '').replaceAll('\n', ' ').trim() }
    }),
  )
}

/** The marker in names that an overlay replaces by its namespace. */
const MARKER = /\bmeshstep(-[a-z]+-|\.)namespace\b/

const ofName = (kind: string, ...fieldPaths: readonly string[]) => ({
  select: { kind },
  fieldPaths,
  options: { delimiter: '-', index: 2 },
})

const ofAudience = (fieldPath: string, select: Readonly<Record<string, string>>, but: readonly string[] = []) => ({
  select,
  reject: but.map((name) => ({ name })),
  fieldPaths: [fieldPath],
  options: { delimiter: '.', index: 1 },
})

const SERVICE = { group: 'serving.knative.dev', kind: 'Service' }

/** The token of the CronJob that follows a model. */
const jujuAudience = (components: readonly string[]) => {
  const token = 'spec.jobTemplate.spec.template.spec.volumes.0.projected.sources.0.serviceAccountToken.audience'
  return components.includes('juju') ? [ofAudience(token, { kind: 'CronJob', name: 'meshstep-juju' })] : []
}

/** Where an audience is: kustomize refuses to replace what is not there, so this follows from the components. */
const audiences = (components: readonly string[]) => {
  const variable = 'spec.template.spec.containers.0.env.0.value'
  if (components.includes('authentication'))
    return [
      ofAudience(variable, SERVICE, ['meshstep-dead-letter']),
      ofAudience('spec.subscriber.audience', { kind: 'Trigger' }),
    ]
  return components.includes('page') ? [ofAudience(variable, { ...SERVICE, name: 'meshstep-page' })] : []
}

/** Puts the namespace into what is cluster-scoped, or names it, as each overlay does for the components that it has. */
export const replacementsFor = (components: readonly string[]) => [
  {
    source: { kind: 'Broker', name: 'meshstep', fieldPath: 'metadata.namespace' },
    targets: [
      ...audiences(components),
      ...jujuAudience(components),
      {
        ...ofName('ClusterRole', 'rules.2.resourceNames.0'),
        select: { kind: 'ClusterRole', name: 'meshstep-reviews-namespace' },
      },
      ofName('ClusterRole', 'metadata.name'),
      ofName('ClusterRoleBinding', 'metadata.name', 'roleRef.name'),
      ofName('ValidatingAdmissionPolicy', 'metadata.name'),
      ofName('ValidatingAdmissionPolicyBinding', 'metadata.name', 'spec.policyName'),
      {
        select: { kind: 'ValidatingAdmissionPolicyBinding' },
        fieldPaths: ['spec.matchResources.namespaceSelector.matchLabels.[kubernetes.io/metadata.name]'],
      },
      {
        select: { kind: 'EventPolicy', name: 'meshstep' },
        fieldPaths: ['spec.from.*.sub'],
        options: { delimiter: ':', index: 2 },
      },
    ],
  },
]

export type Render = {
  readonly namespace: string
  readonly image: string
  /** The image of `components/juju`. @default the name that its manifest has */
  readonly jujuImage?: string
  /** Names of components, in the order in which they are applied. */
  readonly components: readonly string[]
}

/** An object as it was rendered, and what it is called whatever the namespace. */
export type Rendered = { readonly kind: string; readonly name: string; readonly text: string }

const ORDER = [
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'NetworkPolicy',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'Broker',
  'EventPolicy',
  'Service',
  'SinkBinding',
  'Trigger',
]

/** The place of a kind in the order of applying: accounts before who uses them, functions before who sends them events. */
const placeOf = ({ kind }: Rendered): number => (ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length)

/** Throws for an object that still has the marker. */
const objectOf = (text: string): Rendered => {
  const [left] = MARKER.exec(text) ?? []
  if (left !== undefined)
    throw new Error(`${left} is the same in every namespace: replace it, in tools/release/kustomize.ts`)
  const { kind, metadata } = parse(text) as { kind: string; metadata: { name: string } }
  return { kind, name: metadata.name, text }
}

/** Splits off the tag, which kustomize takes apart. */
const imageOf = (name: string, image: string) => {
  const [newName, newTag] = /^(.*):([^:/@]+)$/.exec(image)?.slice(1) ?? [image]
  return { name, newName, ...(newTag !== undefined && { newTag }) }
}

/** Renders the base with components, by the kustomize in kubectl. Rejects when there is none. */
export const render = async ({ namespace, image, jujuImage, components }: Render): Promise<Rendered[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'meshstep-render-'))
  const from = (path: string): string => relative(folder, resolve(ROOT, path))
  const kustomization = {
    namespace,
    resources: [from('base')],
    components: components.map((component) => from(`components/${component}`)),
    images: [imageOf('meshstep', image), ...(jujuImage === undefined ? [] : [imageOf('meshstep-juju', jujuImage)])],
    replacements: replacementsFor(components),
  }
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization))
    const { stdout } = await run('kubectl', ['kustomize', folder], { maxBuffer: 2 ** 24 })
    return stdout
      .split(/^---\n/m)
      .map(objectOf)
      .toSorted((one, other) => placeOf(one) - placeOf(other))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Error('There is no kubectl, whose kustomize renders knative/: install kubectl 1.22 or later', {
      cause: error,
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
