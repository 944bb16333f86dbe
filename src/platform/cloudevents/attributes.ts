import { isTimestamp } from '../base/timestamp.ts'
import { describeValue, InvalidEvent } from './invalid-event.ts'
import { mediaType } from './media-type.ts'

/** Context attributes and extensions, each in its canonical string form. A Map is safe for any name. */
export type Attributes = Map<string, string>

/** An event in either content mode. `data` is parsed on demand, after the attributes are checked. */
export type Message = { readonly attributes: Attributes; readonly data: () => unknown }

type Rule = { readonly expected: string; readonly holds: (value: string) => boolean; readonly required?: true }

const NAME = /^[a-z0-9]+$/
const NOT_IN_STRING = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u
const URI_REFERENCE = /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/
const SCHEME = /^[a-z][a-z0-9+.-]*:/i

const string: Rule = { expected: 'a non-empty string', holds: (value) => value !== '' }

// The version comes first, because other versions have other rules.
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

/** Tells if CloudEvents 1.0.2 §3.1 defines the attribute. All others are extensions. */
export const isCore = (name: string): boolean => rules.has(name)

/** Validates an attribute's value by CloudEvents 1.0.2 §3.1. Extensions may have any value. */
export const isValid = (name: string, value: string): boolean => rules.get(name)?.holds(value) ?? true

/** Checks a name by CloudEvents 1.0.2 §3.1: lower-case letters and digits, and not `data`. Throws InvalidEvent. */
export const checkAttributeName = (name: string): void => {
  if (NAME.test(name) && name !== 'data') return
  throw new InvalidEvent('attribute name', 'a-z and 0-9 only, and not "data"', describeValue(name))
}

/** Checks required attributes and values by CloudEvents 1.0.2 §3.1 to §3.3. Extensions may be empty. Throws InvalidEvent. */
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
