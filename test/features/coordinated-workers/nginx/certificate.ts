import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../../process/helpers.ts'

export type Certificate = {
  readonly cert: string
  readonly key: string
  /** Whom nginx trusts. */
  readonly authority?: string
}

/** A new certificate for `names` and this machine that is its own authority. */
export const makeCertificate = async (...names: string[]): Promise<Certificate> => {
  const directory = await mkdtemp(join(tmpdir(), 'meshstep-'))
  const [cert, key] = [join(directory, 'cert'), join(directory, 'key')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const subject = [...names.map((name) => `DNS:${name}`), 'IP:127.0.0.1'].join(',')
  const made = ['-subj', '/CN=test', '-addext', `subjectAltName=${subject}`, '-keyout', key, '-out', cert]
  await run('openssl', ['req', ...kind, ...made])
  const certificate = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
  await rm(directory, { recursive: true })
  return certificate
}
