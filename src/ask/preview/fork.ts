/**
 * The part of plans that needs the embedded API. It is a separate bundle, which events never load. Errors of the main bundle have other classes here, and
 * are recognized by name.
 */
export { createFork, isServed } from '../../embedded/fork/fork.ts'
export { compareAccess, decidesOtherwise } from './compare.ts'
