import { describe, expect, test } from 'vitest'
import {
  type Documents,
  isConfigGone,
  undocumented,
  withDocumentEvent,
  withDocuments,
  withoutRivals,
} from '../../../../src/core/reconcile/fold/fold-documents.ts'
import type { Document } from '../../../../src/core/relations/told/documents.ts'
import { type RelationEntry, relationKey } from '../../../../src/core/state/relation.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { features } from '../../../../src/features.ts'
import { entryOf, stateOf } from '../../../helpers/states.ts'
import { SUBJECT } from '../../../helpers/world.ts'

const NOW = new Date('2026-01-02T03:04:05.000Z')

const configOf = (config: unknown) => features.config.parse(config)

const ofConfig = (name: string, config: unknown = {}, application = 'web'): Document => ({
  ...{ name, application, config: configOf(config) },
})

const ofRelation = (name: string, changes: Partial<RelationEntry> = {}, application = 'web'): Document => {
  const { id, endpoint, interface: kind, role, remote } = entryOf(changes)
  const announced = { id, endpoint, interface: kind, role, remote: { data: {}, ...remote }, document: name }
  return { name, application, announced }
}

const unreadable = (name: string, application?: string): Document => ({
  ...{ name, problem: 'no' },
  ...(application !== undefined && { application }),
})

const all = (...found: Document[]): Documents => ({ found, looked: 'all' })

const fold = (state: State, documents: Documents): State => withDocuments(state, SUBJECT, documents, NOW, () => [])

const statuses = ({ relations }: State): string[] => Object.values(relations).map(({ status }) => status)

const KEY = relationKey(entryOf())
const HELD = entryOf({ document: 'one' })

describe('a document', () => {
  test('a document of the application declares its config from now on, and brings a removed application back', () => {
    const state = fold(stateOf([], { removed: NOW.toISOString() }), all(ofConfig('one', { labels: { a: 'b' } })))
    expect(state).toMatchObject({
      ...{ document: 'one', config: { labels: { a: 'b' } }, marks: { config: { at: NOW.getTime() } } },
    })
    expect(state).not.toHaveProperty('removed')
  })

  test('a document that is known already changes nothing, and one of another name or content does', () => {
    const known = stateOf([], { document: 'one', config: configOf({}), marks: { config: { at: 3 } } })
    expect(fold(known, all(ofConfig('one')))).toBe(known)
    expect(fold(known, all(ofConfig('two')))).toMatchObject({
      document: 'two',
      marks: { config: { at: NOW.getTime() } },
    })
    expect(fold(known, all(ofConfig('one', { labels: { a: 'b' } })))).toMatchObject({ config: { labels: { a: 'b' } } })
  })

  test('a document of another application, or an unreadable one, declares nothing', () => {
    const state = stateOf([])
    expect(
      fold(state, all(ofConfig('one', {}, 'db'), ofRelation('two', {}, 'db'), unreadable('three', 'web'))),
    ).toEqual(state)
  })

  test('a document of the application declares its relation', () => {
    expect(fold(stateOf([]), all(ofRelation('one'))).relations[KEY]).toMatchObject({
      status: 'established',
      document: 'one',
    })
  })
})

describe('a relation whose document is gone', () => {
  test.each<[string, RelationEntry, Documents, string]>([
    ['ends', HELD, all(), 'ended'],
    ['stands while the document exists', HELD, all(ofRelation('one')), 'established'],
    ['stands while the document is unreadable', HELD, all(unreadable('one')), 'established'],
    ['stands while the document is unreadable for the application', HELD, all(unreadable('one', 'web')), 'established'],
    ['ends where the document is of another application now', HELD, all(ofRelation('one', {}, 'db')), 'ended'],
    ['stands where nobody looked for the document', HELD, { found: [], looked: ['two'] }, 'established'],
    ['ends where somebody looked for the document', HELD, { found: [], looked: ['one'] }, 'ended'],
    ['stands where the other side declares it', { ...HELD, told: undefined }, all(), 'established'],
    ['stands where no document declares it', entryOf(), all(), 'established'],
  ])('a relation whose document is gone %s', (_, entry, documents, status) => {
    expect(statuses(fold(stateOf([entry]), documents))).toEqual([status])
  })

  test('a relation whose document is gone keeps its end', () => {
    expect(undocumented(stateOf([{ ...HELD, status: 'ended' }]), SUBJECT, all())).toEqual([])
  })

  const opposite = (changes: Partial<RelationEntry> = {}, application = 'beacon') =>
    ofRelation('two', { role: 'provides', remote: { application: 'web' }, ...changes }, application)

  test('a relation whose document is gone passes to the document of the other side', () => {
    expect(fold(stateOf([HELD]), all(opposite())).relations[KEY]).toMatchObject({
      ...{ status: 'established', document: 'two', position: { at: 2 }, told: { at: 1 } },
    })
  })

  test.each<[string, Document]>([
    ['of another id', opposite({ id: 2 })],
    ['of another interface', opposite({ interface: 'sql' })],
    ['of the same role', opposite({ role: 'requires' })],
    ['of another application', opposite({}, 'other')],
    ['with another application', opposite({ remote: { application: 'other' } })],
    ['that is a config', ofConfig('two', {}, 'beacon')],
  ])('a relation whose document is gone ends where the other document is one %s', (_, document) => {
    expect(statuses(fold(stateOf([HELD]), all(document)))).toEqual(['ended'])
  })
})

describe('documents that contradict each other', () => {
  const problems = (found: Document[], known: Partial<State> = {}) =>
    withoutRivals(found, SUBJECT, stateOf([], known)).map((one) => ('problem' in one ? one.problem : undefined))

  test('documents that declare a config differently count once: the remembered one, or else the first', () => {
    const found = [ofConfig('one'), ofConfig('two', { labels: { a: 'b' } })]
    const problem = (name: string, holder: string) =>
      `ConfigMap ${name}: ConfigMap ${holder} declares the config of web differently, and is in effect: delete one of the two`
    expect(problems(found)).toEqual([undefined, problem('two', 'one')])
    expect(problems(found, { document: 'two' })).toEqual([problem('one', 'two'), undefined])
  })

  test('documents that declare a relation differently count once', () => {
    const found = [ofRelation('one'), ofRelation('two', { endpoint: 'other' })]
    expect(problems(found)).toEqual([
      undefined,
      'ConfigMap two: ConfigMap one declares relation 1 (other) differently, and is in effect: delete one of the two, or give it another id',
    ])
  })

  test('documents that declare the same, or different relations, or are of other applications, all count', () => {
    const [one] = [ofRelation('one')]
    expect(problems([ofConfig('one'), ofConfig('two')])).toEqual([undefined, undefined])
    expect(problems([one, ofRelation('two')])).toEqual([undefined, undefined])
    expect(problems([one, ofRelation('two', { id: 2, endpoint: 'other' })])).toEqual([undefined, undefined])
    expect(problems([one, ofRelation('two', { interface: 'sql' })])).toEqual([undefined, undefined])
    expect(problems([one, ofConfig('two')])).toEqual([undefined, undefined])
    expect(problems([ofConfig('one'), ofConfig('two', { labels: { a: 'b' } }, 'db')])).toEqual([undefined, undefined])
    expect(problems([ofConfig('one', {}, 'db'), ofConfig('two', { labels: { a: 'b' } }, 'db')])).toEqual([
      undefined,
      undefined,
    ])
    expect(problems([unreadable('one', 'web'), ofConfig('two')])).toEqual(['no', undefined])
  })
})

describe('the document of a config', () => {
  const isGone = (documents: Documents, document: string | undefined = 'one') =>
    isConfigGone(stateOf([], { document }), SUBJECT, documents)

  test.each<[string, Documents, boolean]>([
    ['is gone where it is not found', all(), true],
    ['is there where it is found', all(ofConfig('one')), false],
    ['is gone where it is that of another application', all(ofConfig('one', {}, 'db')), true],
    ['is there where it is unreadable', all(unreadable('one')), false],
    ['is gone where another one is unreadable', all(unreadable('two')), true],
    ['is there where nobody looked', { found: [], looked: [] }, false],
  ])('the document of a config %s', (_, documents, expected) => {
    expect(isGone(documents)).toBe(expected)
  })

  test('the document of a config is not gone where there was none', () => {
    expect(isConfigGone(stateOf([]), SUBJECT, all())).toBe(false)
  })
})

test('the event of a document is remembered at what the document declares, and nowhere else', () => {
  const other = entryOf({ id: 2, document: 'two' })
  const marks = { config: { at: 3 }, settings: { at: 3 } }
  const state = stateOf([HELD, other], { document: 'one', marks })
  expect(withDocumentEvent(state, 'one', 'event')).toEqual({
    ...state,
    relations: { [KEY]: { ...HELD, position: { at: 1, ids: ['event'] } }, [relationKey(other)]: other },
    marks: { ...marks, config: { at: 3, ids: ['event'] } },
  })
  expect(withDocumentEvent(state, 'three', 'event')).toEqual(state)
  expect(withDocumentEvent(stateOf([], { document: 'one' }), 'one', 'event')).not.toHaveProperty('marks')
})
