import { createFunctions } from '../../functions/index.ts'
import { features } from '../../src/features.ts'

/** Every function there is. */
export const functions = createFunctions(features)
