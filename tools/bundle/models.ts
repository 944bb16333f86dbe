import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Plugin } from 'esbuild'
import { type Attribute, attributesOf } from '../../src/embedded/kinds/attributes.ts'

export const MODELS = 'node_modules/@kubernetes/client-node/dist/gen/models'

/** The fields of all models of the official client, by their names. */
const readModels = async (): Promise<Record<string, readonly Attribute[]>> => {
  const names = (await readdir(MODELS)).filter((file) => file.endsWith('.js')).map((file) => basename(file, '.js'))
  return Object.fromEntries(names.toSorted().flatMap((name) => fieldsOf(name)))
}

/** The fields of a model; beside the models there are a list of them, and a time, which have none. */
const fieldsOf = (name: string): [string, readonly Attribute[]][] => {
  try {
    const fields = attributesOf(name)?.map(({ baseName, type, format }) => ({ baseName, type, format }))
    return fields ? [[name, fields]] : []
  } catch {
    return []
  }
}

/** Puts the fields of all models in the place of what reads them: a bundle is to need no package. */
export const modelsInside: Plugin = {
  name: 'models-inside',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/src\/embedded\/kinds\/attributes\.ts$/ }, async () => ({
      contents: `const models = ${JSON.stringify(await readModels())}; export const attributesOf = (model) => models[model]`,
    }))
  },
}
