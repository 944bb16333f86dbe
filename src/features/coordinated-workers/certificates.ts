import { X509Certificate } from 'node:crypto'
import { type Databag, type Relation, relationName, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { CoordinatorConfig } from './config.ts'
import { jsonAt } from './read.ts'
import { remoteUnits, unitTitle } from './relations.ts'
import { endpointNames } from './settings.ts'

/** The certificates of authorities as concatenated PEM. `pem` is undefined if no relation passes a certificate. */
export type Authorities = { readonly pem: string | undefined; readonly problems: readonly string[] }

/** The limit of bytes of certificates in nginx's ConfigMap. */
const MOST_BYTES = 128 * 1024

/**
 * Collects the authorities of `certificate_transfer` relations: a list of the application (version 1), or `ca` and `chain` of each unit. The cluster's own
 * authority is added, because it signs the certificates of workers. The result does not depend on the order of events.
 */
export const collectAuthorities = (relations: EffectiveState['relations'], config: CoordinatorConfig): Authorities => {
  const passed = relationsWith(relations, { role: 'requires', endpoint: endpointNames(config).certificates }).map(
    readPassed,
  )
  const known = passed.flatMap(({ certificates }) => certificates)
  if (known.length === 0) return { pem: undefined, problems: passed.flatMap(({ problems }) => problems) }
  const own = typeof config.tls === 'object' ? parseCertificates(config.tls.caCert ?? '') : []
  const all = [...new Set([...known, ...own.filter((one) => one !== undefined)])].toSorted()
  return { pem: all.join(''), problems: passed.flatMap(({ problems }) => problems) }
}

type Passed = { readonly certificates: readonly string[]; readonly problems: readonly string[] }

const readPassed = (relation: Relation): Passed => {
  const name = relationName(relation)
  const told: [string, string[]][] = [
    [`${name}: data`, stringsAt(relation.remote.data, ['certificates'])],
    ...remoteUnits(relation).map(([unit, databag]): [string, string[]] => [
      `${name}: ${unitTitle(unit)}`,
      stringsAt(databag, ['ca', 'chain']),
    ]),
  ]
  const read = told.flatMap(([where, texts]) => texts.map((text) => ({ where, certificates: parseCertificates(text) })))
  const certificates = read.flatMap((one) => one.certificates.filter((certificate) => certificate !== undefined))
  const bytes = certificates.join('').length
  if (bytes > MOST_BYTES)
    return {
      certificates: [],
      problems: [
        `${name}: expected at most ${MOST_BYTES} bytes of certificates, got ${bytes}; none of them is trusted`,
      ],
    }
  return {
    certificates,
    problems: read
      .filter((one) => one.certificates.length === 0 || one.certificates.includes(undefined))
      .map(({ where }) => `${where}: expected certificates in PEM; invalid ones are not trusted`),
  }
}

/** Reads strings, and lists of strings. PEM in a databag is a string, or JSON of a string. */
const stringsAt = (databag: Databag, keys: readonly string[]): string[] =>
  keys.flatMap((key) => {
    const value = jsonAt(databag, key)
    return (Array.isArray(value) ? value : [value]).filter((one) => one !== undefined).map(String)
  })

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/** Parses certificates into the form that nginx reads. An invalid one becomes undefined. */
const parseCertificates = (text: string): (string | undefined)[] =>
  [...text.matchAll(PEM)].map(([block]) => {
    try {
      return new X509Certificate(block).toString()
    } catch {
      return undefined
    }
  })
