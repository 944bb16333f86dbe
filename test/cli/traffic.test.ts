import { expect, test } from 'vitest'
import type { Classified } from '../../src/ask/traffic/classify.ts'
import { aligned, type Table } from '../../src/cli/output.ts'
import { trafficMermaid, trafficTable } from '../../src/cli/traffic.ts'

const flow = (of: Partial<Classified>): Classified => ({
  ...{ from: 'shop/web', to: 'shop/db', protocol: 'http', requests: 12, refused: 0 },
  ...{ relations: [], access: 'allowed', class: 'allowed and used' },
  ...of,
})
const view = (...flows: Classified[]) => ({ namespace: 'shop', window: '1h', flows, onMesh: [], notes: [] })

const FLOWS = [
  flow({ from: 'unknown', protocol: 'tcp', requests: 4, refused: 4, access: 'none', class: 'refused' }),
  flow({ from: 'shop/old', refused: 2, access: 'open', class: 'used without a relation' }),
  flow({ relations: [{ id: 3, label: 'use' }] }),
  flow({ from: 'shop/job', requests: 0, relations: [{ id: 4, label: 'use' }], class: 'allowed and silent' }),
]

test('a table has a row for each flow', () => {
  expect(textOf(trafficTable(view(...FLOWS)))).toBe(
    [
      'FROM      TO       PROTOCOL  REQUESTS  REFUSED  RELATION  ACCESS   CLASS',
      'unknown   shop/db  tcp       4         4                  none     refused',
      'shop/old  shop/db  http      12        2                  open     used without a relation',
      'shop/web  shop/db  http      12        0        3 (use)   allowed  allowed and used',
      'shop/job  shop/db            0         0        4 (use)   allowed  allowed and silent',
    ].join('\n'),
  )
})

const textOf = (shown: Table | string): string => (typeof shown === 'string' ? shown : aligned(shown))

test('a table has a column for dry runs where there are any', () => {
  const audited = view(flow({ ifEnforced: 'partly refused' }), flow({ from: 'shop/job', class: 'allowed and silent' }))
  expect(textOf(trafficTable(audited)).split('\n')).toEqual([
    expect.stringMatching(/ CLASS +IF ENFORCED$/),
    expect.stringMatching(/ allowed and used +partly refused$/),
    expect.stringMatching(/ allowed and silent$/),
  ])
  expect(trafficMermaid(audited)).toContain('|http 12, if enforced partly refused|')
})

test('the cluster stands behind names where there are several', () => {
  const east = flow({ fromCluster: 'east', toCluster: 'east' })
  expect(textOf(trafficTable(view(east)))).not.toContain('@')
  expect(textOf(trafficTable(view(east, flow({ fromCluster: 'east', toCluster: 'west' }))))).toContain(
    'shop/web@east  shop/db@west',
  )
})

test('a namespace without traffic is told in words', () => {
  expect(trafficTable(view())).toBe('no traffic to shop was seen in the last 1h')
})

test('a drawing has an arrow of its own for each class', () => {
  expect(trafficMermaid(view(...FLOWS))).toBe(
    [
      'graph LR',
      '  n0["shop/db"]',
      '  n1["shop/job"]',
      '  n2["shop/old"]',
      '  n3["shop/web"]',
      '  n4["unknown"]',
      '  n4 --x|tcp 4, 4 refused| n0',
      '  n2 ==>|http 12, 2 refused| n0',
      '  n3 -->|http 12| n0',
      '  n1 -.->|silent| n0',
    ].join('\n'),
  )
})
