import type { Plugin } from 'esbuild'
// asks for the models
import '../../src/embedded/api/api.ts'
import { attributesOf } from '../../src/embedded/kinds/attributes.ts'
import { reachedModels } from '../../src/embedded/kinds/models.ts'

/** The fields of the models that the embedded API asks for, by their names: a quarter of the official client's. */
const readModels = () =>
  Object.fromEntries(
    reachedModels()
      .toSorted()
      .map((name) => [name, attributesOf(name).map(({ baseName, type, format }) => [baseName, type, format])]),
  )

/** Puts the fields of models in the place of what reads them: a bundle is to need no package. */
export const modelsInside: Plugin = {
  name: 'models-inside',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/src\/embedded\/kinds\/attributes\.ts$/ }, () => ({
      contents: `const models = ${JSON.stringify(readModels())}; export const attributesOf = (model) => models[model].map(([baseName, type, format]) => ({ baseName, type, format }))`,
    }))
  },
}
