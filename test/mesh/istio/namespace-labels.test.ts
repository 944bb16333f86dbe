import { expect, test } from 'vitest'
import { modelLabels } from '../../../src/mesh/istio/namespace-labels.ts'

const SUBJECT = { namespace: 'shop', application: 'beacon' }
const MANAGED_BY = 'charms.canonical.com/istio.io.waypoint.managed-by'
const MODE = { 'istio.io/dataplane-mode': 'ambient' }
const USE = { 'istio.io/use-waypoint': 'shop-beacon-waypoint' }
const OURS = { [MANAGED_BY]: 'shop.beacon' }
const THEIRS = { [MANAGED_BY]: 'shop.other' }
const ALL = { ...USE, ...MODE, ...OURS }

type Labels = Record<string, string>

/** `own` are those of the labels that our field manager holds. */
const seen = (labels: Labels, own: readonly string[] = []) => ({
  labels: { foo: 'bar', ...labels },
  holders: { own: new Set(own), others: new Map<string, string[]>() },
})

test.each<[string, Labels, { labels: Labels; inherited: Labels; conflict?: unknown }]>([
  ['no labels', {}, { labels: ALL, inherited: {} }],
  ['ours', ALL, { labels: ALL, inherited: ALL }],
  ['ours in part', OURS, { labels: ALL, inherited: OURS }],
  [
    'those of another beacon',
    { ...MODE, ...THEIRS },
    {
      labels: {},
      inherited: {},
      conflict: { key: 'istio.io/dataplane-mode', manager: 'shop.other', value: 'ambient', wanted: 'ambient' },
    },
  ],
  [
    'a waypoint of nobody',
    { 'istio.io/use-waypoint': 'x' },
    {
      labels: {},
      inherited: {},
      conflict: { key: 'istio.io/use-waypoint', manager: 'unknown', value: 'x', wanted: 'shop-beacon-waypoint' },
    },
  ],
])('to put on the mesh a namespace with %s', (_, labels, expected) => {
  expect(modelLabels(SUBJECT, { modelOnMesh: true }, seen(labels), true)).toEqual(expected)
})

test.each<[string, Labels, { labels: Labels; inherited: Labels }]>([
  ['no labels', {}, { labels: {}, inherited: {} }],
  ['ours', ALL, { labels: {}, inherited: ALL }],
  ['only the mark', OURS, { labels: {}, inherited: OURS }],
  ['those of another beacon', { ...ALL, ...THEIRS }, { labels: {}, inherited: {} }],
])('to take off the mesh a namespace with %s', (_, labels, expected) => {
  for (const mesh of [{}, { modelOnMesh: false }, undefined])
    expect(modelLabels(SUBJECT, mesh, seen(labels), true)).toEqual(expected)
})

test('labels that we hold are ours though the mark is gone, and not once another beacon has set its own', () => {
  const held = Object.keys(MODE)
  expect(modelLabels(SUBJECT, { modelOnMesh: true }, seen(MODE, held), true)).toEqual({ labels: ALL, inherited: {} })
  expect(modelLabels(SUBJECT, { modelOnMesh: true }, seen({ ...MODE, ...THEIRS }, held), true)).toMatchObject({
    labels: {},
  })
})

test('without a waypoint none is named', () => {
  expect(modelLabels(SUBJECT, { modelOnMesh: true, waypoint: false }, seen({}), true).labels).toEqual({
    ...MODE,
    ...OURS,
  })
})

test('a namespace on the mesh leads to a waypoint when that serves, and then always', () => {
  const mesh = { modelOnMesh: true }
  const ours = Object.fromEntries(Object.entries(ALL).filter(([key]) => key !== 'istio.io/use-waypoint'))
  expect(modelLabels(SUBJECT, mesh, seen(ours), false).labels).toEqual(ours)
  for (const [labels, isServing] of [
    [ours, true],
    [ALL, false],
    [{}, false],
  ] as const)
    expect(modelLabels(SUBJECT, mesh, seen(labels), isServing).labels).toEqual(ALL)
})
