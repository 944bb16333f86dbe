import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/** The rooms from the top to the ground: each may import from those below it, and from none above. */
const ROOMS = [
  'entries',
  'cli',
  'page',
  'http',
  'telemetry',
  'lint',
  'preview',
  'schemas',
  'functions',
  'features',
  'events',
  'reconcile',
  'authorization',
  'service-mesh',
  'coordinated-workers',
  'workload',
  'services',
  'access',
  'feature',
  'relations',
  'state',
  'units',
  'istio',
  'policies',
  'embedded',
  'cloudevents',
  'kubernetes',
  'base',
]

/** The reconciler knows these by their contract alone. */
const FEATURES = ['service-mesh', 'coordinated-workers', 'services']

/** These speak of Istio's objects: the beacon that runs its waypoint, and the answers about its policies. */
const KNOW_ISTIO = [
  'authorization',
  'coordinated-workers',
  'features',
  'http',
  'istio',
  'lint',
  'preview',
  'relations',
  'service-mesh',
]

const roomOf = (file: string): string => {
  const [top = '', room = '', ...rest] = file.split('/')
  if (top === 'functions') return top
  if (rest.length > 0) return room
  return room === 'features.ts' ? 'features' : 'entries'
}

const imports = globSync(['src/**/*.ts', 'functions/**/*.ts']).flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+(?<!\.json))'/g)].map(([, specifier = '']) => ({
    file,
    imported: normalize(join(dirname(file), specifier)),
  })),
)

const named = ({ file, imported }: { file: string; imported: string }) => `${file} imports ${imported}`

test('every file is in a room', () => {
  const files = globSync(['src/**/*.ts', 'functions/**/*.ts'])
  expect(files.filter((file) => !ROOMS.includes(roomOf(file)))).toEqual([])
  expect(files.filter((file) => roomOf(file) === 'entries').toSorted()).toEqual([
    'src/index.ts',
    'src/local.ts',
    'src/main.ts',
    'src/resend-command.ts',
  ])
})

test('imports go one way, down', () => {
  const floor = (file: string) => ROOMS.indexOf(roomOf(file))
  expect(imports.filter(({ file, imported }) => floor(imported) < floor(file)).map(named)).toEqual([])
})

test('the reconciler imports no feature', () => {
  const known = imports.filter(
    ({ file, imported }) => roomOf(file) === 'reconcile' && FEATURES.includes(roomOf(imported)),
  )
  expect(known.map(named)).toEqual([])
})

test('features import each other only where one rests on another', () => {
  const between = imports.filter(
    ({ file, imported }) =>
      roomOf(file) !== roomOf(imported) && [file, imported].every((one) => FEATURES.includes(roomOf(one))),
  )
  expect(new Set(between.map(({ file, imported }) => `${roomOf(file)} imports ${roomOf(imported)}`))).toEqual(
    new Set(['service-mesh imports coordinated-workers']),
  )
})

test('a mesh is known to the rooms that speak of its objects, and to no other', () => {
  const knowing = imports.filter(({ imported }) => roomOf(imported) === 'istio').map(({ file }) => roomOf(file))
  expect([...new Set(knowing)].toSorted()).toEqual(KNOW_ISTIO)
})
