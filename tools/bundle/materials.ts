import { readdir, readFile, writeFile } from 'node:fs/promises'
import type { Metafile } from 'esbuild'

type Package = { name: string; version: string; license: string; text: string; sources: readonly string[] }

/** Sources that a package was made of, besides its own repository. */
const MADE_OF: Readonly<Record<string, readonly string[]>> = { elkjs: ['https://github.com/eclipse-elk/elk'] }

/** Finds the address of a package's sources. npm takes a URL of git, or a name on GitHub. Throws where there is neither. */
const sourceOf = (name: string, repository: unknown): string => {
  const url = String((repository as { url?: unknown } | undefined)?.url ?? repository)
  const [, path] = /^(?:github:|(?:.*[/@])?github\.com[/:])?([\w.-]+\/[\w.-]+?)(?:\.git)?$/.exec(url) ?? []
  if (path === undefined) throw new Error(`${name} names no repository on GitHub: ${url}`)
  return `https://github.com/${path}`
}

/** The packages that files are of, each with its licence's text and its sources. Rejects when one has none. */
const packagesOf = async (paths: readonly string[]): Promise<Package[]> => {
  const folders = paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [])
  const packages = [...new Set(folders)].map(async (folder) => {
    const { name, version, license, repository } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'))
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).toSorted()
    const texts = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, 'utf8')))
    if (typeof license !== 'string') throw new Error(`${folder}/package.json names no license`)
    const text = texts.join('\n').trim() || `Licensed under ${license}; the package has no text of it.`
    return { name, version, license, text, sources: [sourceOf(name, repository), ...(MADE_OF[name] ?? [])] }
  })
  const key = ({ name, version }: Package) => `${name}@${version}`
  return (await Promise.all(packages)).toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
}

const RULE = '-'.repeat(80)

/**
 * Notices of third parties, whose licences ask for it wherever their code goes. The EPL asks for the way to the source as well. A text that several
 * packages have is there once, below the names of all.
 */
const noticesOf = (packages: readonly Package[]): string =>
  [...Map.groupBy(packages, ({ text }) => text)]
    .map(([text, ones]) => {
      const heads = ones.map(
        ({ name, version, license, sources }) => `${name} ${version} (${license})\nSource: ${sources.join(', ')}\n`,
      )
      return `${heads.join('')}\n${text}\n`
    })
    .join(`\n${RULE}\n\n`)

/** A bill of materials of what is really in the bundle: https://cyclonedx.org/docs/1.6/json/ */
const billOf = (packages: readonly Package[], version: string): string => {
  const component = { type: 'application', name: 'meshstep', version, 'bom-ref': 'meshstep' }
  const components = packages.map(({ name, version, license, sources }) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    const externalReferences = sources.map((url) => ({ type: 'vcs', url }))
    const licenses = [{ expression: license }]
    return { type: 'library', name, version, purl, 'bom-ref': purl, licenses, externalReferences }
  })
  const dependencies = [{ ref: 'meshstep', dependsOn: components.map(({ purl }) => purl) }]
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component },
    components,
    dependencies,
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

/** Writes the notices and the bill of materials of what was bundled, and of files that were copied, into a folder. */
export const writeMaterials = async (
  folder: string,
  bundled: readonly Metafile[],
  copied: readonly string[],
): Promise<void> => {
  const packages = await packagesOf([...bundled.flatMap(({ inputs }) => Object.keys(inputs)), ...copied])
  await writeFile(`${folder}/NOTICES.txt`, noticesOf(packages))
  const { version } = JSON.parse(await readFile('package.json', 'utf8'))
  await writeFile(`${folder}/sbom.cdx.json`, billOf(packages, version))
}
