import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { folder } from '../knative/builds.ts'
import { KubeObject } from '../knative/kinds.ts'

/** The policies of a file of `components/authentication`, with a namespace put in as its overlays do. */
export const admissionIn = (file: string, namespace: string): KubeObject[] => {
  const text = readFileSync(join(folder, 'components/authentication', file), 'utf8')
  const installed = text.replaceAll(/\bnamespace$/gm, namespace)
  return parseAllDocuments(installed).map((document) => KubeObject.parse(document.toJS()))
}
