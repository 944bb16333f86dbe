const RFC3339 =
  /^(?<day>\d{4}-\d\d-\d\d)t(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d):(?<second>[0-5]\d|60)(?:\.(?<fraction>\d+))?(?<offset>z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

const MINUTE = 60_000
const DAY_MINUTES = 24 * 60

/** An instant. Offsets are whole minutes, so minutes count in UTC and the rest compares as digits. */
type Instant = { readonly minute: number; readonly seconds: string }

/** Tells if `text` is an RFC 3339 date-time of an existing day. Second 60 is valid only where UTC can have a leap second. */
export const isTimestamp = (text: string): boolean => instantOf(text) !== undefined

/** Compares instants with their offsets and all digits of their fractions. */
export const compareTimes = (a: string, b: string): -1 | 0 | 1 => {
  const [left, right] = [required(a), required(b)]
  if (left.minute !== right.minute) return left.minute < right.minute ? -1 : 1
  if (left.seconds === right.seconds) return 0
  return left.seconds < right.seconds ? -1 : 1
}

const required = (text: string): Instant => {
  const instant = instantOf(text)
  if (!instant) throw new TypeError(`Expected an RFC 3339 time, got ${JSON.stringify(text.slice(0, 40))}`)
  return instant
}

const instantOf = (text: string): Instant | undefined => {
  const { day = '', hour, minute, second = '', fraction = '', offset = '' } = RFC3339.exec(text)?.groups ?? {}
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined
  const utc = midnight / MINUTE + Number(hour) * 60 + Number(minute) - offsetMinutes(offset)
  if (second === '60' && ((utc % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES !== DAY_MINUTES - 1) return undefined
  // Without trailing zeros, fractions compare correctly as text. The look-behind prevents a retry at each zero of a long run.
  return { minute: utc, seconds: second + fraction.replace(/(?<!0)0+$/, '') }
}

const offsetMinutes = (offset: string): number => {
  const [hours, minutes] = offset.slice(1).split(':').map(Number)
  const size = (hours ?? 0) * 60 + (minutes ?? 0)
  return offset.startsWith('-') ? -size : size
}

/** Returns milliseconds since the epoch, with fractions down to microseconds, which a number can hold. Throws TypeError for an invalid time. */
export const instantMilliseconds = (text: string): number => {
  const { minute, seconds } = required(text)
  return minute * MINUTE + Number(`${seconds.slice(0, 2)}.${seconds.slice(2)}`) * 1_000
}
