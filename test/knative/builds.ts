import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import * as z from 'zod'
import { replacementsFor } from '../../tools/release/kustomize.ts'
import { KubeObject } from './kinds.ts'

/** The folder the manifests are in. */
export const folder = fileURLToPath(new URL('../../knative', import.meta.url))

const run = (command: string, args: string[]): string | undefined => {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 2 ** 24 })
  } catch {
    return undefined
  }
}

const Version = z.object({ clientVersion: z.object({ major: z.coerce.number(), minor: z.string() }) })

/** kubectl 1.22 is the first whose built-in kustomize knows components, replacements and labels. */
const kubectlIsNewEnough = (): boolean => {
  const { data } = Version.safeParse(JSON.parse(run('kubectl', ['version', '--client', '-o', 'json']) ?? '{}'))
  return data !== undefined && (data.clientVersion.major > 1 || Number.parseInt(data.clientVersion.minor, 10) >= 22)
}

const builder = (): [command: string, argument: string] | undefined => {
  if (kubectlIsNewEnough()) return ['kubectl', 'kustomize']
  return run('kustomize', ['version']) === undefined ? undefined : ['kustomize', 'build']
}

const found = builder()

/** Why nothing can be built here, to be shown as the name of the skipped tests. */
export const cannotBuild = found ? undefined : 'needs kubectl 1.22 or newer, or kustomize, to build knative/'

export const build = (path: string): KubeObject[] => {
  if (!found) return []
  const output = execFileSync(found[0], [found[1], path], { encoding: 'utf8', maxBuffer: 2 ** 24 })
  return parseAllDocuments(output).map((document) => KubeObject.parse(document.toJS()))
}

/** Base with components, in a namespace. */
export const buildCombination = (components: readonly string[], namespace = 'shop'): KubeObject[] => {
  const root = mkdtempSync(join(tmpdir(), 'meshstep-kustomize-'))
  const kustomization = {
    namespace,
    resources: [relative(root, join(folder, 'base'))],
    components: components.map((name) => relative(root, join(folder, 'components', name))),
    replacements: replacementsFor(components),
  }
  writeFileSync(join(root, 'kustomization.yaml'), JSON.stringify(kustomization))
  try {
    return build(root)
  } finally {
    rmSync(root, { recursive: true })
  }
}

const COMPONENTS = ['functions', 'leases', 'mesh', 'authentication']

/** None, each alone, and all but each: so any two are together, apart, and both away. */
const combinations: string[][] = [
  [],
  ...COMPONENTS.map((component) => [component]),
  ...COMPONENTS.map((component) => COMPONENTS.filter((other) => other !== component)),
]

export type Build = { name: string; components: readonly string[]; objects: KubeObject[] }

/** An overlay has authentication unless its name says that it has none, and rights beyond its namespace where the name says so. */
const componentsOf = (name: string): string[] => {
  if (name.endsWith('-without-authentication')) return ['mesh']
  return ['authentication', ...['mesh'].filter((component) => name.endsWith(`-${component}`))]
}

const overlays = (): Build[] =>
  readdirSync(join(folder, 'overlays')).map((name) => ({
    name: `overlays/${name}`,
    components: componentsOf(name),
    objects: build(join(folder, 'overlays', name)),
  }))

const combined = (): Build[] =>
  [...combinations, ['network'], ['page'], ['juju'], everything].map((components) => ({
    name: ['base', ...components].join(' + '),
    components,
    objects: buildCombination(components),
  }))

const everything = ['functions', 'leases', 'mesh', 'authentication', 'network', 'page', 'juju']

/** Each overlay, and base with each combination of components; nothing depends on `network`, `page` and `juju`. */
export const builds: Build[] = found
  ? [...overlays(), ...combined()]
  : [{ name: `(${cannotBuild})`, components: [], objects: [] }]
