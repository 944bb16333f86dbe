import { lengthOf, literal } from './nginx/directives.ts'

/** What one relation asks to be routed. */
export type Share<T> = { readonly relation: string; readonly items: readonly T[] }

/** A ConfigMap holds 1 MiB: these are the bytes of the file that one relation may take, all of the workers, and all of the backends. */
export const MOST_BYTES = { relation: 192 * 1024, workers: 256 * 1024, backends: 384 * 1024 } as const

/** A location without the address that it passes to, and the name that it may have besides. */
const LOCATION_BYTES = 256

/** The most bytes that the routes to a URL or an address take in the file. */
export const routeBytes = (address: string): number => 2 * lengthOf(literal(address)) + LOCATION_BYTES

type Bounded<T> = { readonly items: readonly T[]; readonly problems: readonly string[] }

/**
 * What there is room for, in the order given. A relation that would take too much is left out as a whole and named, and where all together are too much,
 * those that take most: so none keeps the file from following the others.
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
          ? `${relation}: not routed: its ${length} addresses take up to ${bytes} bytes of nginx.conf, and one relation has room for ${MOST_BYTES.relation}; tell fewer or shorter ones`
          : `${relation}: not routed: it takes most (${bytes} bytes) of more than the ${most} bytes that nginx.conf has room for`,
      ),
  }
}
