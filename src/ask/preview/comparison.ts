/** The part of plans that compares. It is a separate bundle, which events never load. */
export { compareAccess, decidesOtherwise } from './compare.ts'
export { changesBetween } from './object-changes.ts'
