/** The part that plans need beside the rest: a bundle of its own, so that an event never loads it. Errors that come in from outside are told by name. */
export { createFork } from '../../embedded/fork/fork.ts'
export { compareAccess, decidesOtherwise } from './compare.ts'
