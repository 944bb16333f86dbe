import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Files } from './archive.ts'

const run = promisify(execFile)

/** What `npm run release` does, as docs/how-to/install.md says it. */
const BUILD_TYPE = 'https://meshstep.dev/build-types/npm-run-release/v1'

/** Nothing is claimed of where the release was made: whoever signs the statement vouches for that. */
export const LOCAL_BUILDER = 'https://meshstep.dev/builders/local/v1'

type Lock = { packages: Record<string, { version: string; integrity?: string }> }

/** The hexadecimal SHA-256 of a file. */
export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The commit that is checked out, or undefined where files differ from it, or there is no git. */
const readCommit = async (): Promise<string | undefined> => {
  try {
    const { stdout: changes } = await run('git', ['status', '--porcelain'])
    return changes === '' ? (await run('git', ['rev-parse', 'HEAD'])).stdout.trim() : undefined
  } catch {
    return undefined
  }
}

/** A package of the lock file, by its purl and the digest that npm checks. */
const packageOf = (path: string, version: string, integrity: string) => {
  const name = path.replace(/^.*node_modules\//, '').replace('@', '%40')
  const [algorithm = '', digest = ''] = integrity.split('-')
  return {
    uri: `pkg:npm/${name}@${version}`,
    digest: { [algorithm]: Buffer.from(digest, 'base64').toString('hex') },
  }
}

/** The packages that the release is made with and of, each once: npm installs them by the lock file. */
const packagesIn = (lock: string) => {
  const { packages } = JSON.parse(lock) as Lock
  const found = Object.entries(packages).flatMap(([path, { version, integrity }]) =>
    integrity === undefined ? [] : [packageOf(path, version, integrity)],
  )
  return [...new Map(found.map((each) => [each.uri, each])).values()]
}

/**
 * Says what the files of a release were made of: an in-toto Statement v1 with a SLSA provenance v1. The same of each run of one commit, so
 * it has no times; it is not signed. `parameters` are what the release was told. Rejects without a package-lock.json.
 */
export const createProvenance = async (
  files: Files,
  { builder, ...parameters }: Readonly<Record<string, string>> & { readonly builder: string },
): Promise<string> => {
  const lock = await readFile('package-lock.json', 'utf8')
  const commit = await readCommit()
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: Object.entries(files).map(([name, bytes]) => ({ name, digest: { sha256: sha256(bytes) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: parameters,
        resolvedDependencies: [
          ...(commit === undefined ? [] : [{ name: 'source', digest: { gitCommit: commit } }]),
          { name: 'package-lock.json', digest: { sha256: sha256(lock) } },
          ...packagesIn(lock),
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  }
  return `${JSON.stringify(statement, null, 2)}\n`
}
