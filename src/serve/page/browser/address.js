/**
 * @typedef {{ readonly namespace: string, readonly chosen: readonly string[], readonly request: Readonly<Record<string, string>>, readonly search: string, readonly showing: string,
 *   readonly period: string,
 *   readonly opened: Set<string>, readonly closed: Set<string> }} Address What the page shows: the selection, the question of a pair, and what is open.
 */

/** @param {string | undefined} text */
const listed = (text) => new Set(text === undefined || text === '' ? [] : text.split(','))

/** Reads the page's URL. @returns {Address} */
export const openedAddress = () => {
  /** @type {Record<string, string>} */
  const given = Object.fromEntries(new URLSearchParams(location.search))
  const {
    namespace = '',
    search = '',
    open,
    closed,
    traffic: showing = '',
    window: period = '',
    application,
    from,
    to,
    ...request
  } = given
  const pair = from !== undefined && to !== undefined ? [from, to] : undefined
  const chosen = pair ?? (application === undefined ? [] : [application])
  return { namespace, chosen, request, search, showing, period, opened: listed(open), closed: listed(closed) }
}

/** Writes the page's URL, so that it can be sent to somebody. @param {Address} address */
export const writeAddress = ({
  namespace,
  chosen: [one = '', other],
  request,
  search,
  showing,
  period,
  opened,
  closed,
}) => {
  const selected = other === undefined ? { application: one } : { from: one, to: other, ...request }
  const traffic = { traffic: showing === 'declared' ? '' : showing, window: period === '1h' ? '' : period }
  const all = { namespace, search, ...traffic, open: [...opened].join(), closed: [...closed].join(), ...selected }
  const query = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ''))
  history.replaceState(null, '', query.size === 0 ? location.pathname : `?${query}`)
}
