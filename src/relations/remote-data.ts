import type { Databag, Relation } from '../state.ts'

/** The application databag of the remote side: what it published itself goes before what others say of it. */
export const remoteData = ({ remote, published }: Pick<Relation, 'remote' | 'published'>): Databag => ({
  ...remote.data,
  ...published?.data,
})
