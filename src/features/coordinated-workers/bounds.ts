import { lengthOf, literal } from './nginx/directives.ts'

/** The items that one relation wants routed. */
export type Share<T> = { readonly relation: string; readonly items: readonly T[] }

/** The limits of bytes in nginx.conf for one relation, all workers, and all backends. A ConfigMap holds 1 MiB. */
export const MOST_BYTES = { relation: 192 * 1024, workers: 256 * 1024, backends: 384 * 1024 } as const

/** The bytes of a location without its address, but with its name. */
const LOCATION_BYTES = 256

/** Returns the most bytes that the routes to an address take in the file. */
export const routeBytes = (address: string): number => 2 * lengthOf(literal(address)) + LOCATION_BYTES

type Bounded<T> = { readonly items: readonly T[]; readonly problems: readonly string[] }

/**
 * Limits items to the room in the file, in order. A relation that takes too much is left out as a whole, and named. If all relations together take too
 * much, the largest ones are left out, so that none can keep the others from being routed.
 */
export const bounded = <T>(
  shares: readonly Share<T>[],
  bytesOf: (item: T) => number,
  most: number = MOST_BYTES.backends,
): Bounded<T> => {
  const sized = shares.map(({ relation, items }) => ({
    relation,
    items,
    bytes: items.reduce((sum, item) => sum + bytesOf(item), 0),
  }))
  const fitting = new Set(sized.filter(({ bytes }) => bytes <= MOST_BYTES.relation))
  let total = [...fitting].reduce((sum, { bytes }) => sum + bytes, 0)
  for (const largest of [...fitting].toSorted((one, other) => other.bytes - one.bytes)) {
    if (total <= most) break
    fitting.delete(largest)
    total -= largest.bytes
  }
  return {
    items: sized.flatMap((share) => (fitting.has(share) ? share.items : [])),
    problems: sized
      .filter((share) => !fitting.has(share))
      .map(({ relation, items: { length }, bytes }) =>
        bytes > MOST_BYTES.relation
          ? `${relation}: not routed: its ${length} addresses take up to ${bytes} bytes of nginx.conf, and one relation has room for ${MOST_BYTES.relation}; publish fewer or shorter ones`
          : `${relation}: not routed: it takes ${bytes} bytes, and all relations together exceed the ${most} bytes that nginx.conf has room for`,
      ),
  }
}
