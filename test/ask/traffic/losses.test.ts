import { describe, expect, test } from 'vitest'
import type { AccessChange } from '../../../src/ask/preview/difference/describe-changes.ts'
import type { Classified } from '../../../src/ask/traffic/classify.ts'
import { judgeLosses, notCompared, type Recent, useOf } from '../../../src/ask/traffic/losses.ts'
import type { TrafficView } from '../../../src/ask/traffic/traffic.ts'

const change = (of: Partial<AccessChange> = {}): AccessChange => ({
  ...{ from: 'shop/web', to: 'shop/db', via: 'service', port: 80, before: 'allowed', after: 'denied', count: 1 },
  line: '- web → db :80',
  ...of,
})

const outside = (of: Partial<AccessChange> = {}): AccessChange => {
  const { from: _, ...rest } = change(of)
  return rest
}

/** A flow of an account, or of none that a proxy saw. */
const flow = (of: Partial<Classified> = {}, account = 'shop/web'): Classified => ({
  ...{ from: 'shop/web', to: 'shop/db', protocol: 'http', requests: 60, refused: 0 },
  ...(account !== '' && { accounts: [account] }),
  ...{ relations: [], access: 'allowed', class: 'allowed and used' },
  ...of,
})

const WEEK = 7 * 86_400

const view = (window: string, flows: readonly Classified[], coveredSeconds?: number): TrafficView => ({
  ...{ namespace: 'shop', window, flows, onMesh: ['shop/cache', 'shop/db', 'shop/way'], notes: [] },
  ...(coveredSeconds !== undefined && { coveredSeconds }),
})

const recent = (inHour: readonly Classified[], inWeek = inHour, covered = WEEK): Recent => ({
  hour: view('1h', inHour, Math.min(covered, 3_600)),
  week: view('7d', inWeek, covered),
})

describe('the traffic of a loss', () => {
  test.each<[string, Recent, string, string]>([
    ['a rate', recent([flow({ requests: 720 })]), 'used', '12 requests/min in the last hour'],
    ['a small rate', recent([flow({ requests: 93 })]), 'used', '1.6 requests/min in the last hour'],
    ['a number, if it is little', recent([flow({ requests: 3 })]), 'used', '3 requests in the last hour'],
    ['a single connection', recent([flow({ protocol: 'tcp', requests: 1 })]), 'used', '1 connection in the last hour'],
    [
      'both protocols',
      recent([flow({ requests: 120 }), flow({ protocol: 'tcp', requests: 4 })]),
      'used',
      '2 requests/min and 4 connections in the last hour',
    ],
    ['nothing that was refused', recent([flow({ refused: 59 })]), 'used', '1 request in the last hour'],
    [
      'a week, if the hour is silent',
      recent([], [flow({ requests: 40 })]),
      'used',
      '40 requests in the last 7 days, not in the last hour',
    ],
    ['silence', recent([]), 'silent', 'not used for 7 days'],
    ['silence of what was refused', recent([flow({ refused: 60 })]), 'silent', 'not used for 7 days'],
    ['silence for as long as proxies are scraped', recent([], [], 172_800), 'silent', 'not used for 2 days'],
    ['silence of what went another way', recent([flow({ ways: ['pod'] })]), 'silent', 'not used for 7 days'],
    [
      'what went this way as well',
      recent([flow({ requests: 720, ways: ['pod', 'service'] })]),
      'used',
      '12 requests/min in the last hour',
    ],
    ['a time that is shorter than an hour', recent([flow()], [], 600), 'used', '6 requests/min in the last 10 minutes'],
    ['no silence, if no proxies are scraped', { ...recent([]), week: view('7d', []) }, 'unknown', 'use not known'],
    ['an hour alone', { hour: view('1h', [], 3_600) }, 'unknown', 'not used in the last hour'],
    ['nothing, if nothing is known', {}, 'unknown', 'use not known'],
  ])('the traffic of a loss is %s', (_, seen, is, text) => {
    expect(useOf(change(), seen)).toMatchObject({ is, text })
  })

  test.each<[string, AccessChange, Classified, boolean]>([
    ['the same client', change(), flow(), true],
    ['another client', change(), flow({ from: 'shop/job' }, 'shop/job'), false],
    ['another target', change({ to: 'shop/cache' }), flow(), false],
    ['pods by the name of their controller', change({ to: 'shop/pod/db' }), flow(), true],
    ['a Gateway by its workload', change({ to: 'shop/gateway/way' }), flow({ to: 'shop/way-istio' }), true],
    ['one of many clients', outside({ clients: ['shop/web', 'shop/x'] }), flow(), true],
    ['a whole namespace', outside({ clients: ['shop/*'] }), flow(), true],
    ['a namespace with a longer name', outside({ clients: ['sho/*'] }), flow(), false],
    ['an excluded client', outside({ clients: ['shop/*'], notClients: ['shop/web'] }), flow(), false],
    ['namespaces that cannot be read', outside({ clients: ['*/*'] }), flow(), true],
    ['an account', change({ from: 'shop/sa/runner' }), flow({}, 'shop/runner'), true],
    ['another account', change({ from: 'shop/sa/runner' }), flow(), false],
    ['a pattern of accounts', change({ from: 'shop/sa/run*' }), flow({}, 'shop/runner'), true],
    ['any account, if no proxy saw one', change({ from: 'shop/sa/runner' }), flow({}, ''), true],
    ['an application, if proxies saw an account alone', change(), flow({ from: 'shop/sa/x' }, 'shop/x'), true],
    ['clients outside the mesh, if no proxy saw an account', outside(), flow({}, ''), true],
    ['clients outside the mesh, if a proxy saw an account', outside(), flow(), false],
  ])('%s: a flow of it is counted', (_, lost, seen, isCounted) => {
    expect(useOf(lost, recent([seen])).is).toBe(isCounted ? 'used' : 'silent')
  })

  test('traffic through another Service of the same pods is counted', () => {
    const [hour, week] = [view('1h', [flow()], 3_600), view('7d', [flow()], WEEK)]
    const samePods = [['shop/cache', 'shop/db']]
    const lost = change({ to: 'shop/cache' })
    expect(useOf(lost, { hour: { ...hour, samePods }, week })).toMatchObject({ is: 'used', requests: 60 })
    expect(useOf(lost, { hour, week })).toMatchObject({ is: 'silent' })
  })

  test('where something passed that nobody knows, a client is silent only if it is all on the mesh', () => {
    const seen = recent([flow({ from: 'unknown' }, '')])
    expect(useOf(change(), seen).is).toBe('unknown')
    expect(useOf(outside({ clients: ['shop/cache', 'shop/web'] }), seen).is).toBe('unknown')
    expect(useOf(change({ from: 'shop/cache' }), seen).is).toBe('silent')
    expect(useOf(change(), recent([flow({ from: 'unknown', refused: 60 }, '')])).is).toBe('silent')
  })

  test('connections that were all refused may hide one that passed, as both numbers are extrapolated', () => {
    expect(useOf(change(), recent([flow({ protocol: 'tcp', refused: 60 })])).is).toBe('unknown')
  })

  test('a target that is not all on the mesh is never silent, as nobody sees all traffic to it', () => {
    expect(useOf(change({ to: 'shop/off' }), recent([]))).toMatchObject({ is: 'unknown', text: 'use not known' })
  })

  test('what a waypoint passes on is counted for its clients, so its own silence is not known', () => {
    expect(useOf(change({ from: 'shop/gateway/way' }), recent([])).is).toBe('unknown')
  })
})

test('losses come first, the most used before what is not known and what is silent, and each has its traffic', () => {
  const access = [
    change({ from: 'shop/new', before: 'denied', after: 'allowed', line: '+ new' }),
    change({ from: 'shop/idle', line: '- idle' }),
    change({ from: 'shop/gateway/way', before: 'undecided', line: '? way' }),
    change({ from: 'shop/job', line: '- job' }),
    change({ line: '- web' }),
  ]
  const flows = [flow(), flow({ from: 'shop/job', requests: 9 }, 'shop/job')]
  const judged = judgeLosses(access, new Map([['shop', recent(flows)]]))
  expect(judged.map(({ line, traffic }) => [line, traffic?.is])).toEqual([
    ['- web', 'used'],
    ['- job', 'used'],
    ['? way', 'unknown'],
    ['- idle', 'silent'],
    ['+ new', undefined],
  ])
})

describe('a client that used a target of a loss and that the plan did not compare', () => {
  const job = (of: Partial<Classified> = {}) => flow({ from: 'shop/job', access: 'unknown', ...of }, 'shop/job')
  const JOB = 'shop/job → shop/db: used in the last 7 days, and not compared, as the client does not run here now'

  test.each<[string, readonly AccessChange[], readonly Classified[], readonly string[]]>([
    ['is not named where the target keeps all access', [change({ before: 'denied', after: 'allowed' })], [job()], []],
    ['is not named where it was only refused', [change()], [job({ refused: 60 })], []],
    ['is not named where the cluster knows what it may', [change()], [job({ access: 'allowed' })], []],
    ['is not named where it is the one of the loss', [change({ from: 'shop/job' })], [job()], []],
    ['is not named where it used another target', [change()], [job({ to: 'shop/cache' })], []],
    ['is not named where it went another way', [change()], [job({ ways: ['pod'] })], []],
    ['is named', [change()], [job(), flow()], [JOB]],
    ['is named once', [change(), outside(), change({ via: 'pod' })], [job()], [JOB]],
  ])('a client that used a target of a loss and that the plan did not compare %s', (_, access, flows, said) => {
    expect(notCompared(access, new Map([['shop', recent([], flows)]]))).toEqual(said)
  })

  test('a client that used a target of a loss and that the plan did not compare is not known without a Prometheus', () => {
    expect(notCompared([change()], new Map())).toEqual([])
  })
})
