import { badRequest } from './status.ts'

export type FieldRequirement = { readonly path: string; readonly value: string; readonly wanted: boolean }

/** Reads a field selector, `metadata.name=a,status.phase!=Running`. */
export const fieldSelector = (text: string): FieldRequirement[] =>
  text
    .split(',')
    .filter((term) => term !== '')
    .map((term) => {
      const [, path, operator, value] = /^([^=!]*)(==|!=|=)(.*)$/.exec(term) ?? []
      if (path === undefined || value === undefined) {
        throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
      }
      return { path, value, wanted: operator !== '!=' }
    })
