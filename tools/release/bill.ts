import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

type Lock = { packages: Record<string, { version: string; dev?: boolean }> }

type Bill = {
  metadata: { component: Record<string, unknown> }
  components: { 'bom-ref': string }[]
  dependencies: { ref: string; dependsOn: string[] }[]
} & Record<string, unknown>

/** The packages that are installed with this one, as name@version: npm's own --omit=dev also omits those that a tool needs as well. */
const readInstalled = async (): Promise<ReadonlySet<string>> => {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as Lock
  const kept = Object.entries(packages).filter(([path, { dev = false }]) => path !== '' && !dev)
  return new Set(kept.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`))
}

/** A bill of materials of the package, by npm, without what changes from run to run: when, where and by which npm it was made. */
export const createBill = async (): Promise<string> => {
  const { stdout } = await run('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--silent'], {
    maxBuffer: 2 ** 24,
  })
  const { serialNumber: _, metadata, components, dependencies, ...bill } = JSON.parse(stdout) as Bill
  const installed = await readInstalled()
  const self = String(metadata.component['bom-ref'])
  const isIn = (ref: string): boolean => ref === self || installed.has(ref)
  const kept = {
    ...bill,
    metadata: { component: { ...metadata.component, name: 'meshstep' } },
    components: components.filter((component) => isIn(component['bom-ref'])),
    dependencies: dependencies
      .filter(({ ref }) => isIn(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isIn).toSorted() })),
  }
  return `${JSON.stringify(kept, null, 2)}\n`
}
