import { isTimestamp } from '../base/timestamp.ts'
import { describeValue, InvalidEvent } from './invalid-event.ts'
import { mediaType } from './media-type.ts'

/** Context attributes, extensions included, each in its canonical string form. A Map, since any name may come. */
export type Attributes = Map<string, string>

/** An event of either content mode. `data` is read on demand, after the attributes are checked. */
export type Message = { readonly attributes: Attributes; readonly data: () => unknown }

type Rule = { readonly expected: string; readonly holds: (value: string) => boolean; readonly required?: true }

const NAME = /^[a-z0-9]+$/
const NOT_IN_STRING = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u
const URI_REFERENCE = /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/
const SCHEME = /^[a-z][a-z0-9+.-]*:/i

const string: Rule = { expected: 'a non-empty string', holds: (value) => value !== '' }

// The version first: attributes of other versions follow other rules.
const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['specversion', { expected: '"1.0"', holds: (value) => value === '1.0', required: true }],
  ['id', { ...string, required: true }],
  ['source', { expected: 'a URI-reference', holds: (value) => URI_REFERENCE.test(value), required: true }],
  ['type', { ...string, required: true }],
  ['subject', string],
  ['time', { expected: 'an RFC 3339 time', holds: isTimestamp }],
  ['datacontenttype', { expected: 'a media type', holds: (value) => mediaType(value) !== undefined }],
  ['dataschema', { expected: 'an absolute URI', holds: (value) => SCHEME.test(value) && URI_REFERENCE.test(value) }],
])

/** Tells if CloudEvents 1.0.2 §3.1 defines the attribute; all others are extensions. */
export const isCore = (name: string): boolean => rules.has(name)

/** Validates the value of an attribute as CloudEvents 1.0.2 §3.1 asks; an extension may be anything. */
export const isValid = (name: string, value: string): boolean => rules.get(name)?.holds(value) ?? true

/** CloudEvents 1.0.2 §3.1: lower-case letters and digits, and never `data`. */
export const checkAttributeName = (name: string): void => {
  if (NAME.test(name) && name !== 'data') return
  throw new InvalidEvent('attribute name', 'a-z and 0-9 only, and not "data"', describeValue(name))
}

/** CloudEvents 1.0.2 §3.1 to §3.3: what has to be there, and what each attribute may hold. Extensions may be empty. */
export const checkAttributes = (attributes: Attributes): void => {
  for (const [name, { expected, holds, required }] of rules) {
    const value = attributes.get(name)
    if (value === undefined ? required : !holds(value)) throw new InvalidEvent(name, expected, describeValue(value))
  }
  for (const [name, value] of attributes) {
    if (NOT_IN_STRING.test(value))
      throw new InvalidEvent(name, 'neither control characters nor noncharacters', describeValue(value))
  }
}
