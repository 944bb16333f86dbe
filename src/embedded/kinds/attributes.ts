import { createRequire } from 'node:module'

/** A field of a model of the official client; its type in the models' notation: `Array<V1Container>`. */
export type Attribute = { readonly baseName: string; readonly type: string; readonly format: string }

const load = createRequire(import.meta.url)

/** The fields of a model, e.g. `V1PodSpec`. A bundle has those of all models in the place of this file. */
export const attributesOf = (model: string): readonly Attribute[] =>
  load(`@kubernetes/client-node/dist/gen/models/${model}.js`)[model].attributeTypeMap
