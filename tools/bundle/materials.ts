import { readdir, readFile, writeFile } from 'node:fs/promises'
import type { Metafile } from 'esbuild'

type Package = { name: string; version: string; license: string; text: string }

/** The packages that files are of, each with its licence's text. Rejects when one has none. */
const packagesOf = async (paths: readonly string[]): Promise<Package[]> => {
  const folders = paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [])
  const packages = [...new Set(folders)].map(async (folder) => {
    const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'))
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).toSorted()
    const texts = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, 'utf8')))
    if (typeof license !== 'string') throw new Error(`${folder}/package.json names no license`)
    const text = texts.join('\n').trim() || `Licensed under ${license}; the package has no text of it.`
    return { name, version, license, text }
  })
  const key = ({ name, version }: Package) => `${name}@${version}`
  return (await Promise.all(packages)).toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
}

const RULE = '-'.repeat(80)

/** Notices of third parties, whose licences ask for it wherever their code goes. */
const noticesOf = (packages: readonly Package[]): string =>
  packages
    .map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`)
    .join(`\n${RULE}\n\n`)

/** A bill of materials of what is really in the bundle: https://cyclonedx.org/docs/1.6/json/ */
const billOf = (packages: readonly Package[], version: string): string => {
  const component = { type: 'application', name: 'meshstep', version, 'bom-ref': 'meshstep' }
  const components = packages.map(({ name, version, license }) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    return { type: 'library', name, version, purl, 'bom-ref': purl, licenses: [{ expression: license }] }
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
