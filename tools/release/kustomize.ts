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

type Kustomization = { replacements?: readonly unknown[] }

/** What the overlays replace by the namespace: what is cluster-scoped, and what names it. */
const readReplacements = async (): Promise<unknown[]> => {
  const names = (await readdir(`${ROOT}/overlays`)).toSorted()
  const texts = names.map((name) => readFile(`${ROOT}/overlays/${name}/kustomization.yaml`, 'utf8'))
  const all = (await Promise.all(texts)).flatMap((text) => (parse(text) as Kustomization).replacements ?? [])
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
}

export type Render = {
  readonly namespace: string
  readonly image: string
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

const objectOf = (text: string): Rendered => {
  const { kind, metadata } = parse(text) as { kind: string; metadata: { name: string } }
  return { kind, name: metadata.name, text }
}

/** Renders the base with components, by the kustomize in kubectl. Rejects when there is none. */
export const render = async ({ namespace, image, components }: Render): Promise<Rendered[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'meshstep-render-'))
  const from = (path: string): string => relative(folder, resolve(ROOT, path))
  const [name, tag] = /^(.*):([^:/@]+)$/.exec(image)?.slice(1) ?? [image]
  const kustomization = {
    namespace,
    resources: [from('base')],
    components: components.map((component) => from(`components/${component}`)),
    images: [{ name: 'meshstep', newName: name, ...(tag !== undefined && { newTag: tag }) }],
    replacements: await readReplacements(),
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
