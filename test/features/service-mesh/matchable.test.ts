import { describe, expect, test } from 'vitest'
import { ask, createMesh, policiesIn, requires, wire } from '../../helpers/beacon-world.ts'
import { event, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }

const allowing = (endpoint: Record<string, unknown>) => ({
  ...DB,
  config: { policies: [{ type: 'app', relation: 'use', endpoints: [endpoint] }] },
})

const answer = async (world: World, endpoint: Record<string, unknown>) => {
  const response = await world.post(event('config-changed', allowing(endpoint)))
  return [response.status, ((await response.json()) as { message?: string }).message]
}

describe('a config is refused', () => {
  test.each([
    ['a template that the waypoint refuses', { paths: ['/a', '{*}'] }, /endpoints\.0\.paths\.1: .* begins with \//],
    ['a path that no request has', { paths: ['a'] }, /endpoints\.0\.paths\.0: .*no request has/],
    ['a path with a blank', { paths: ['/a b'] }, /endpoints\.0\.paths\.0: .*blanks and control characters/],
    ['a path with NUL', { paths: ['/a\0'] }, /endpoints\.0\.paths\.0: .*blanks and control characters/],
    ['a host with a blank', { hosts: ['a b'] }, /endpoints\.0\.hosts\.0: .*blanks and control characters/],
    ['a host with NUL', { hosts: ['a\0'] }, /endpoints\.0\.hosts\.0: .*blanks and control characters/],
  ])('a config is refused with %s', async (_, endpoint, message) => {
    expect(await answer(createMesh(['db']), endpoint)).toEqual([400, expect.stringMatching(message)])
  })
})

test.each(['/a*b', '/*/'])('an asterisk that stands for itself is told: %s', async (path) => {
  const world = createMesh(['db'])
  await world.send('relation-changed', requires(7, DB))
  expect((await world.send('config-changed', allowing({ paths: [path] }))).messages).toContainEqual(
    expect.stringContaining(`the path ${path} matches a * literally`),
  )
})

test('a request for a template that the waypoint refuses is named, and stops no other', async () => {
  const world = createMesh(['web', 'db'])
  await world.send('config-changed', { application: 'beacon', config: { mesh: {} } })
  const request = (source_app_name: string, path: string) =>
    wire({ source_app_name, endpoints: [{ hosts: null, ports: null, methods: null, paths: [path] }] })
  const { messages } = await ask(world, JSON.stringify([request('web', '{*}'), request('other', '/b')]))
  expect(messages).toContainEqual(expect.stringMatching(/relation 7 .*policies\[0\].*begins with \//))
  const paths = policiesIn(world)
    .flatMap(({ spec }) => spec.rules ?? [])
    .flatMap(({ to }) => to ?? [])
  expect(paths.map(({ operation }) => operation?.paths)).toEqual([['/b']])
})
