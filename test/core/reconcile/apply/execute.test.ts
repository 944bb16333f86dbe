import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { execute, isFailed, skipAll, skippedMessage } from '../../../../src/core/reconcile/apply/execute.ts'
import { idOf, type Operation } from '../../../../src/core/reconcile/decide/operation.ts'
import { createKubernetes, type TransportAnswer } from '../../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { fakeClock } from '../../../helpers/clock.ts'
import { labelled } from '../../../helpers/situations.ts'
import { NAMESPACE } from '../../../helpers/world.ts'

const API_VERSIONS: Readonly<Record<string, string>> = {
  AuthorizationPolicy: 'security.istio.io/v1',
  StatefulSet: 'apps/v1',
}

const object = (kind: string, name: string): KubernetesObject => ({
  ...{ apiVersion: API_VERSIONS[kind] ?? 'v1', kind },
  metadata: { name, namespace: NAMESPACE, uid: name, resourceVersion: '1' },
})

const common = (verb: Operation['verb'], kind: string, name: string, needs: readonly string[]) => {
  const about = `${kind} ${NAMESPACE}/${name}`
  return { id: idOf(verb, about), object: about, manager: 'meshstep/web', needs, reason: '' }
}

const removing = (name: string, ...needs: string[]): Operation => ({
  ...{ ...common('remove', 'ConfigMap', name, needs), verb: 'remove' },
  found: object('ConfigMap', name),
})

const applying = (kind: string, name: string, changes: Partial<Operation> = {}, ...needs: string[]): Operation =>
  ({
    ...{
      ...common('apply', kind, name, needs),
      verb: 'apply',
      desired: object(kind, name),
      found: undefined,
    },
    ...changes,
  }) as Operation

const idOfMap = (name: string) => `remove ConfigMap ${NAMESPACE}/${name}`

const refusal = (status: number, reason: string): TransportAnswer => ({
  ...{ status, headers: {} },
  body: JSON.stringify({ kind: 'Status', status: 'Failure', reason, code: status, message: `it is ${reason}` }),
})
const REFUSED = refusal(422, 'Invalid')
const CONFLICT = refusal(409, 'Conflict')
const AWAY = refusal(599, 'away')

const isDenying = ({ spec }: KubernetesObject) => spec?.action === 'DENY'

/** Runs operations against an API server that answers by the name in the path; the calls, and the most of them at once. */
const run = async (
  operations: readonly Operation[],
  answers: Readonly<Record<string, TransportAnswer>> = {},
  { failed = [] as string[], isCurrent = true, isFresh = false } = {},
) => {
  const calls: string[] = []
  let [now, most, asked] = [0, 0, 0]
  const clock = fakeClock()
  const kubernetes = createKubernetes({
    ...{ clock, deadline: clock.now() + 60_000 },
    transport: async ({ method, path, body }) => {
      const name = path.split('?')[0]?.split('/').at(-1) ?? ''
      calls.push(`${method} ${name}`)
      now += 1
      most = Math.max(most, now)
      await turn()
      now -= 1
      const answer = answers[name]
      if (answer === AWAY) throw new Error('it is away')
      if (answer) return answer
      const written = method === 'DELETE' || body === undefined ? object('ConfigMap', name) : JSON.parse(String(body))
      return {
        status: 200,
        headers: {},
        body: JSON.stringify({ ...written, metadata: { ...written.metadata, resourceVersion: '2' } }),
      }
    },
  })
  const confirmCurrent = async () => {
    asked += 1
    return isCurrent
  }
  const execution = await execute(kubernetes, operations, { failed, confirmCurrent, isDenying, isFresh })
  const { reports, overtaken } = execution
  return {
    calls,
    most,
    asked,
    overtaken,
    reports: reports.map(({ operation, ...report }) => [operation.object.split('/')[1], report] as const),
  }
}

const DONE = { isWritten: true, conflicts: [] }

describe('operations', () => {
  test('operations are executed in order, and reported', async () => {
    const { calls, reports, most } = await run([removing('a'), removing('b')])
    expect(calls).toEqual(['DELETE a', 'DELETE b'])
    expect([reports, most]).toEqual([
      [
        ['a', DONE],
        ['b', DONE],
      ],
      1,
    ])
    expect((await run([])).reports).toEqual([])
  })

  test('operations that depend on a refused one are skipped, and those that depend on them, and no others', async () => {
    const all = [removing('a'), removing('b', idOfMap('a')), removing('c', idOfMap('b')), removing('d')]
    const { reports, calls } = await run(all, { a: REFUSED })
    expect(
      reports.map(([name, report]) => [name, report.isWritten, report.skipped ?? report.refused?.slice(0, 6)]),
    ).toEqual([
      ['a', false, 'DELETE'],
      ['b', false, idOfMap('a')],
      ['c', false, idOfMap('b')],
      ['d', true, undefined],
    ])
    expect(calls).toEqual(['DELETE a', 'DELETE d'])
    expect((await run(all.slice(1), {}, { failed: [idOfMap('a')] })).calls).toEqual(['DELETE d'])
  })

  test('operations end where another writer was faster', async () => {
    const { reports, overtaken, calls } = await run([removing('a'), removing('b'), removing('c')], { b: CONFLICT })
    expect([reports, calls, overtaken]).toEqual([[['a', DONE]], ['DELETE a', 'DELETE b'], { cause: expect.any(Error) }])
  })

  test('operations fail where the API server does', async () => {
    await expect(run([removing('a'), removing('b')], { a: AWAY })).rejects.toThrow('it is away')
  })
})

describe('a write that restarts pods', () => {
  const SET = applying('StatefulSet', 'web')

  test('a write that restarts pods is done only where no other step was faster', async () => {
    expect(await run([removing('a'), SET, removing('b')], {}, { isCurrent: false })).toMatchObject({
      overtaken: {},
      reports: [['a', DONE]],
      asked: 1,
    })
    expect((await run([removing('a'), SET], {}, {})).reports).toHaveLength(2)
    expect((await run([removing('a'), removing('b')], {}, { isCurrent: false })).asked).toBe(0)
  })

  test('a write that restarts pods is asked about once, and not where the memory was saved a moment ago', async () => {
    expect((await run([SET])).asked).toBe(1)
    expect(await run([SET], {}, { isFresh: true, isCurrent: false })).toMatchObject({
      asked: 0,
      reports: [['web', {}]],
    })
    expect((await run([removing('a'), SET], {}, { isFresh: true })).asked).toBe(1)
  })
})

describe('operations side by side', () => {
  const touching = (name: string, ...needs: string[]): Operation => ({
    ...{ ...common('touch', 'ConfigMap', name, needs), verb: 'touch', fence: 't' },
    found: object('ConfigMap', name),
  })
  const allowing = (name: string, changes: object = {}, ...needs: string[]) =>
    applying('AuthorizationPolicy', name, changes as Partial<Operation>, ...needs)
  const most = async (...operations: Operation[]) => (await run(operations)).most

  test('operations side by side are touches, new policies that allow, and labels that stay', async () => {
    expect(await most(touching('a'), touching('b'))).toBe(2)
    expect(await most(allowing('a'), allowing('b'), allowing('c'))).toBe(3)
    const [service, set] = [labelled('Service', { a: '1' }), labelled('StatefulSet', { a: '1' })].map(
      ({ places }, index): Operation => {
        const [place] = places ?? []
        if (place === undefined) throw new Error('no place')
        return {
          ...common('label', place.object.kind, `web${index}`, []),
          verb: 'label',
          place,
          difference: { remove: {}, apply: { a: '2' } },
        }
      },
    )
    if (service === undefined || set === undefined) throw new Error('no labels')
    expect(await most(service, { ...service, object: 'Service shop/other', id: 'other' })).toBe(2)
  })

  test('operations side by side are at most eight', async () => {
    expect(await most(...Array.from({ length: 12 }, (_, index) => touching(`a${index}`)))).toBe(8)
  })

  test('operations side by side have one verb, different objects, and do not depend on each other', async () => {
    expect(await most(touching('a'), allowing('b'))).toBe(1)
    expect(await most(touching('a'), { ...touching('a'), id: 'again' })).toBe(1)
    expect(await most(touching('a'), touching('b', `touch ConfigMap ${NAMESPACE}/a`))).toBe(1)
    expect(await most(allowing('a'), allowing('b', { found: object('AuthorizationPolicy', 'b') }))).toBe(1)
    const denial = { ...object('AuthorizationPolicy', 'b'), spec: { action: 'DENY' } }
    expect(await most(allowing('a'), allowing('b', { desired: denial }))).toBe(1)
    expect(await most(applying('ConfigMap', 'a'), applying('ConfigMap', 'b'))).toBe(1)
    expect(await most(removing('a'), removing('b'))).toBe(1)
  })

  test('operations side by side that fail let those in flight end, and a conflict is less than a failure', async () => {
    const { overtaken, reports } = await run([touching('a'), touching('b')], { a: CONFLICT })
    expect([overtaken !== undefined, reports.map(([name]) => name)]).toEqual([true, ['b']])
    await expect(run([touching('a'), touching('b')], { a: CONFLICT, b: AWAY })).rejects.toThrow('it is away')
    const refused = await run([touching('a'), touching('b')], { a: REFUSED })
    expect(refused.reports.map(([name, { refused: why }]) => [name, why !== undefined])).toEqual([
      ['a', true],
      ['b', false],
    ])
  })

  test('several writes to one object follow each other', async () => {
    const wide = { ...allowing('a'), id: 'widen a' }
    const { calls, most: atOnce } = await run([wide, allowing('a', {}, 'widen a'), allowing('b')])
    expect([calls, atOnce]).toEqual([['PATCH a', 'PATCH a', 'PATCH b'], 1])
  })
})

describe('what an operation leaves', () => {
  test('an operation has failed where it was refused or skipped, or an apply met a conflict', () => {
    const conflicts = [{ object: 'a', manager: 'b' }]
    const failed = (operation: Operation, report: object) =>
      isFailed({ operation, isWritten: false, conflicts: [], ...report })
    expect([
      failed(removing('a'), {}),
      failed(removing('a'), { refused: 'no' }),
      failed(removing('a'), { skipped: 'b' }),
    ]).toEqual([false, true, true])
    expect([failed(removing('a'), { conflicts }), failed(applying('ConfigMap', 'a'), { conflicts })]).toEqual([
      false,
      true,
    ])
  })

  test('an operation that cannot be done has those skipped that depend on it', () => {
    const skipped = skipAll([removing('a', 'x'), removing('b', idOfMap('a')), removing('c')], ['x'])
    expect(skipped.map(({ operation, skipped: by }) => [operation.id, by])).toEqual([
      [idOfMap('a'), 'x'],
      [idOfMap('b'), idOfMap('a')],
    ])
  })

  test('an operation that was skipped says for what it waits', () => {
    const told = (operation: Operation, skipped: string | undefined = 'apply ConfigMap shop/x') =>
      skippedMessage({ operation, isWritten: false, conflicts: [], ...(skipped && { skipped }) })
    expect(told(removing('a'))).toBe('ConfigMap shop/a stays: ConfigMap shop/x, which comes first, is not applied')
    expect(told(applying('ConfigMap', 'a'))).toBe('ConfigMap shop/a is not applied: it waits for ConfigMap shop/x')
    expect(told({ ...removing('a'), verb: 'forget' } as Operation)).toContain('stays')
    expect(told({ ...removing('a'), verb: 'label' } as unknown as Operation)).toBe(
      'the labels of ConfigMap shop/a wait for ConfigMap shop/x',
    )
    expect(told(removing('a'), '')).toBeUndefined()
  })
})
