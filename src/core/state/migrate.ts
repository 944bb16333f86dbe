import { fromVersion1 } from './from-version-1.ts'
import { fromVersion2 } from './from-version-2.ts'
import { VERSION } from './state.ts'

/** The error for a state of a version that only a newer program knows. */
export class NewerVersion extends Error {
  override readonly name = 'NewerVersion'
  readonly version: number

  constructor(version: number) {
    super(`expected version ${VERSION} or lower, got ${version}`)
    this.version = version
  }
}

/** Migrates a state of an earlier version, one version after another. Other values stay as they are. Throws NewerVersion. */
export const migrate = (value: unknown): unknown => {
  const version = versionOf(value)
  if (version !== undefined && version > VERSION) throw new NewerVersion(version)
  const second = version === 1 ? fromVersion1(value) : value
  return versionOf(second) === 2 ? fromVersion2(second) : second
}

const versionOf = (value: unknown): number | undefined => {
  const version = (value as { version?: unknown } | null)?.version
  return typeof version === 'number' ? version : undefined
}
