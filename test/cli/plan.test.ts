import { describe, expect, test } from 'vitest'
import type { Plan } from '../../src/ask/preview/preview.ts'
import { failureOf } from '../../src/cli/plan.ts'
import { accessLines } from '../../src/cli/plan-access.ts'

type Change = Plan['access'][number]

const change = (of: Partial<Change> = {}): Change => ({
  ...{ from: 'pa/shop', to: 'pb/pay', via: 'service', port: 80, before: 'allowed', after: 'denied', count: 1 },
  line: '- pa/shop → pb/pay :80',
  ...of,
})

const plan = (of: Partial<Plan> = {}): Plan => ({
  ...{ steps: [], outcomes: [], objects: [], access: [], expectations: [], incomplete: [], messages: [] },
  ...of,
})

describe('the exit code of a plan', () => {
  test.each<[string, Partial<Plan>, number, string]>([
    ['2 where access is lost', { access: [change()] }, 2, 'access is lost (1)'],
    ['2 where access is lost of a group', { access: [change({ count: 80 })] }, 2, 'access is lost (80)'],
    ['2 where access is no more certain', { access: [change({ after: 'undecided' })] }, 2, 'access is lost (1)'],
    [
      '2 where access is lost, and not all was compared',
      { access: [change()], incomplete: ['x'] },
      2,
      'access is lost (1)',
    ],
    ['3 where not all was compared', { incomplete: ['x'] }, 3, 'it is not known if access is lost (1)'],
    [
      '3 where what is refused may have passed',
      { access: [change({ before: 'undecided' })] },
      3,
      'it is not known if access is lost (1)',
    ],
  ])('the exit code of a plan is %s', (_, of, code, message) => {
    expect(failureOf(plan(of), 'lose')).toMatchObject({ code, message })
    expect(failureOf(plan(of), 'none')).toBeUndefined()
  })

  test('the exit code of a plan is 3 where access may widen, and that is asked for', () => {
    const perhaps = plan({ access: [change({ before: 'denied', after: 'undecided' })] })
    expect(failureOf(perhaps, 'widen')).toMatchObject({ code: 3, message: 'it is not known if access widens (1)' })
    expect([failureOf(perhaps, 'lose'), failureOf(perhaps, 'none')]).toEqual([undefined, undefined])
  })

  test('the exit code of a plan is 3 where it is not known whether access is lost or widens, and both are asked about', () => {
    const access = [change({ before: 'undecided' }), change({ before: 'denied', after: 'undecided', count: 2 })]
    const [unknown, unread] = [plan({ access }), plan({ incomplete: ['x'] })]
    expect(failureOf(unknown, 'widen')?.message).toBe('it is not known if access is lost (1), or widens (2)')
    expect(failureOf(unread, 'widen')).toMatchObject({ code: 3, message: 'it is not known if access is lost (1)' })
  })

  const used = (is: 'used' | 'silent' | 'unknown', of: Partial<Change> = {}) => ({
    ...change(of),
    traffic: { ...{ is, requests: 9, connections: 0, seconds: 3_600 }, text: '9 requests in the last hour' },
  })

  test.each<[string, ReturnType<typeof plan>['access'], number | undefined, string | undefined]>([
    ['2 where a used access is lost', [used('used', { count: 4 }), used('silent')], 2, 'used access is lost (4)'],
    ['0 where no lost access was used', [used('silent')], undefined, undefined],
    ['3 where use is not known', [used('unknown'), used('silent')], 3, 'it is not known if used access is lost (1)'],
    [
      '3 where a used access may be lost',
      [used('used', { before: 'undecided' })],
      3,
      'it is not known if used access is lost (1)',
    ],
    [
      '3 without a Prometheus',
      [change()],
      3,
      'it is not known if used access is lost (1): name a Prometheus with --prometheus',
    ],
    ['0 where access is gained', [change({ before: 'denied', after: 'allowed' })], undefined, undefined],
  ])('the exit code of a plan that fails on used is %s', (_, access, code, message) => {
    const failure = failureOf(plan({ access }), 'used')
    expect([failure?.code, failure?.message]).toEqual([code, message])
  })

  test('the exit code of a plan that fails on used is 3 where a client that used a target was not compared', () => {
    const judged = { ...plan({ access: [used('silent')] }), notCompared: ['shop/job → shop/db: used'] }
    expect(failureOf(judged, 'used')).toMatchObject({ code: 3, message: 'it is not known if used access is lost (1)' })
    expect(failureOf(judged, 'none')).toBeUndefined()
  })

  test('the exit code of a plan that fails on used is 3 where not all was compared', () => {
    expect(failureOf(plan({ incomplete: ['x'] }), 'used')).toMatchObject({ code: 3 })
  })

  test('the exit code of a plan is 0 where access is gained, and all was compared', () => {
    expect(failureOf(plan({ access: [change({ before: 'denied', after: 'allowed' })] }), 'lose')).toBeUndefined()
  })
})

describe('the text of a plan', () => {
  test('the text of a plan has each change where there are few', () => {
    expect(accessLines([change(), change({ line: 'x' })])).toEqual(['- pa/shop → pb/pay :80', 'x'])
  })

  test('the text of a plan has the traffic behind each loss, and counts what is used in a group', () => {
    const traffic = {
      is: 'used',
      requests: 1,
      connections: 0,
      seconds: 3_600,
      text: '1 request in the last hour',
    } as const
    expect(accessLines([{ ...change(), traffic }])).toEqual(['- pa/shop → pb/pay :80, 1 request in the last hour'])
    const many = Array.from({ length: 61 }, (_, index) => ({
      ...change(),
      traffic: { ...traffic, is: index < 2 ? ('used' as const) : ('silent' as const) },
    }))
    expect(accessLines(many)[0]).toBe('- clients of pa → pb/pay, 61 changes, 2 of them used')
  })

  test('the text of a plan groups changes by the namespaces of their targets where there are many', () => {
    const many = Array.from({ length: 100 }, (_, index) => change({ to: `pb/app-${index}` }))
    const outside = Array.from({ length: 2 }, () => {
      const { from: _, ...of } = change({ to: 'pc/db', line: '- (outside the mesh) → pc/db :80' })
      return of
    })
    expect(accessLines([...many, ...outside])).toEqual([
      '- clients of pa → 100 applications of pb, 100 changes',
      '- clients outside the mesh → pc/db, 2 changes',
      '-o json has each',
    ])
  })
})
