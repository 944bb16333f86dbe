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

  test('the exit code of a plan is 0 where access is gained, and all was compared', () => {
    expect(failureOf(plan({ access: [change({ before: 'denied', after: 'allowed' })] }), 'lose')).toBeUndefined()
  })
})

describe('the text of a plan', () => {
  test('the text of a plan has each change where there are few', () => {
    expect(accessLines([change(), change({ line: 'x' })])).toEqual(['- pa/shop → pb/pay :80', 'x'])
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
