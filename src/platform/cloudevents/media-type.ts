/** The type is in lower case, without parameters. `charset` is in lower case, without quotes. */
export type MediaType = { readonly type: string; readonly charset?: string }

const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
const MEDIA_TYPE = new RegExp(`^(?<type>${TOKEN}/${TOKEN})[ \\t]*(?<parameters>;[\\t\\x20-\\x7e]*)?$`)
const PARAMETER = /;\s*([^\s;="]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"]*)/g

const JSON_MEDIA_TYPE: MediaType = { type: 'application/json' }

/** Parses an RFC 2046 media type, with lenient parameters. Returns undefined for an invalid one. */
export const mediaType = (value: string): MediaType | undefined => {
  if (value === JSON_MEDIA_TYPE.type) return JSON_MEDIA_TYPE
  const { type, parameters = '' } = MEDIA_TYPE.exec(value)?.groups ?? {}
  if (type === undefined) return undefined
  const [, , charset] = [...parameters.matchAll(PARAMETER)].find(([, name]) => name?.toLowerCase() === 'charset') ?? []
  const unquoted = charset?.replace(/^"(.*)"$/, '$1').toLowerCase()
  return { type: type.toLowerCase(), ...(unquoted !== undefined && { charset: unquoted }) }
}

/** Tells if a media type is JSON: its subtype is json, or ends with +json (JSON event format 1.0.2 §3.1.1). */
export const isJson = ({ type }: MediaType): boolean => /\/(?:.*\+)?json$/.test(type)

export const isText = ({ type }: MediaType): boolean => type.startsWith('text/') && !isJson({ type })
