import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../helpers/runs.ts'
import { type Answered, CONFIG_MAPS, configMap, createClient } from '../client.ts'

type Data = Record<string, string>
type Step =
  | { verb: 'apply'; manager: string; data: Data; force: boolean }
  | { verb: 'update'; manager: string; data: Record<string, string | null> }

const key = fc.constantFrom('a', 'b', 'c')
const value = fc.constantFrom('1', '2')
const manager = fc.constantFrom('x', 'y', 'z')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ verb: fc.constant('apply' as const), manager, data: fc.dictionary(key, value), force: fc.boolean() }),
  fc.record({ verb: fc.constant('update' as const), manager, data: fc.dictionary(key, fc.option(value)) }),
)

/** The rules of server-side apply for a flat map, as the documentation has them: who owns each key, and its value. */
class Model {
  readonly values = new Map<string, string>()
  readonly owners = new Map<string, Set<string>>()

  conflicts(step: Step & { verb: 'apply' }): string[] {
    return Object.entries(step.data)
      .filter(([key, value]) => this.values.get(key) !== value)
      .flatMap(([key]) =>
        [...this.ownersOf(key)].filter((owner) => owner !== `${step.manager} Apply`).map((owner) => `${owner} ${key}`),
      )
      .toSorted()
  }

  apply({ manager, data }: Step & { verb: 'apply' }): void {
    const self = `${manager} Apply`
    for (const [key, value] of Object.entries(data)) {
      if (this.values.get(key) !== value) this.owners.set(key, new Set())
      this.values.set(key, value)
      this.owners.set(key, this.ownersOf(key).add(self))
    }
    for (const [key, owners] of this.owners) {
      if (data[key] === undefined && owners.delete(self) && owners.size === 0) this.remove(key)
    }
  }

  update({ manager, data }: Step & { verb: 'update' }): void {
    for (const [key, value] of Object.entries(data)) {
      if (value === null) this.remove(key)
      else if (this.values.get(key) !== value) {
        this.values.set(key, value)
        this.owners.set(key, new Set([`${manager} Update`]))
      }
    }
  }

  recorded(): string[] {
    return [...this.owners].flatMap(([key, owners]) => [...owners].map((owner) => `${owner} ${key}`)).toSorted()
  }

  ownersOf(key: string): Set<string> {
    return this.owners.get(key) ?? new Set()
  }

  remove(key: string): void {
    this.values.delete(key)
    this.owners.delete(key)
  }
}

const send = (client: ReturnType<typeof createClient>, step: Step): Answered => {
  const path = `${CONFIG_MAPS}/one?fieldManager=${step.manager}`
  if (step.verb === 'update') return client.patch(path, 'merge', { data: step.data })
  return client.patch(`${path}&force=${step.force}`, 'apply', configMap('one', step.data))
}

/** Which manager owns which key, as managedFields say. */
const recorded = (object: Answered['object']): string[] =>
  (object.metadata.managedFields ?? [])
    .flatMap((entry: { manager: string; operation: string; fieldsV1: Record<string, Data> }) =>
      Object.keys(entry.fieldsV1['f:data'] ?? {})
        .filter((field) => field !== '.')
        .map((field) => `${entry.manager} ${entry.operation} ${field.slice(2)}`),
    )
    .toSorted()

const causes = ({ object }: Answered): string[] =>
  object.details.causes
    .map(
      ({ message, field }: Data) =>
        `${message?.split('"')[1]} ${message?.includes(' using ') ? 'Update' : 'Apply'} ${field?.slice('.data.'.length)}`,
    )
    .toSorted()

/** What the model expects of a step; the model takes the step unless it is refused. */
const expected = (model: Model, step: Step): { status: number; conflicts: string[] } => {
  if (step.verb === 'update') {
    model.update(step)
    return { status: 200, conflicts: [] }
  }
  const conflicts = step.force ? [] : model.conflicts(step)
  if (conflicts.length === 0) model.apply(step)
  return { status: conflicts.length === 0 ? 200 : 409, conflicts }
}

const check = (steps: readonly Step[]): void => {
  const client = createClient()
  const model = new Model()
  client.post(`${CONFIG_MAPS}?fieldManager=x`, configMap('one', { seed: '1' }))
  model.update({ verb: 'update', manager: 'x', data: { seed: '1' } })
  for (const step of steps) {
    const { status, conflicts } = expected(model, step)
    const answer = send(client, step)
    expect(answer.status).toBe(status)
    if (status === 409) expect(causes(answer)).toEqual(conflicts)
    const { object } = client.get(`${CONFIG_MAPS}/one`)
    expect(object.data ?? {}).toEqual(Object.fromEntries(model.values))
    expect(recorded(object)).toEqual(model.recorded())
    send(client, step)
    expect(client.get(`${CONFIG_MAPS}/one`).object).toEqual(object)
  }
}

test('any sequence of applies and updates keeps to the rules, and repeating one writes nothing', () => {
  void fc.assert(fc.property(fc.array(step, { maxLength: 12 }), check), { numRuns: runs(300) })
})
