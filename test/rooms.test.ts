import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { WINGS, wingsTable } from './wings.ts'

const FEATURES = Object.keys(WINGS.find(({ name }) => name === 'features')?.rooms ?? {})

/** The files outside `mesh/istio/` and `ask/` that name Istio, by import or in words, and why. */
const KNOW_ISTIO = [
  // the beacon runs Istio's waypoint, and takes raw policies
  /^src\/features\/service-mesh\//,
  // the labels of the mesh, and who may ask for which
  /^src\/core\/relations\/mesh-labels\.ts$/,
  // chooses the mesh
  /^src\/features\.ts$/,
  // plays Istio's part
  /^src\/embedded\//,
  /^src\/cli\/local\.ts$/,
  // says what each key of a config means, also those that Istio reads
  /^src\/serve\/schemas\/meanings\.ts$/,
  // where the API server serves each kind, and what to install where it does not
  /^src\/platform\/kubernetes\/objects\.ts$/,
  /^src\/core\/reconcile\/decide\/plan-objects\.ts$/,
  // a setting of istiod that /explain goes by, and files with its policies
  /^src\/cli\/options\.ts$/,
  /^src\/cli\/commands\/lint\.ts$/,
]

const FLOORS = WINGS.flatMap(({ name, rooms }) =>
  rooms === undefined ? [name] : Object.keys(rooms).map((room) => `${name}/${room}`),
)

/** The wing of a file, with its room where it has one. */
const roomOf = (file: string): string => {
  const [top = '', wing = '', room = '', ...rest] = file.split('/')
  if (top === 'functions') return top
  if (room === '') return FLOORS.includes(wing) ? wing : 'entries'
  return FLOORS.includes(wing) || rest.length === 0 ? wing : `${wing}/${room}`
}

const files = globSync(['src/**/*.ts', 'functions/**/*.ts'])

const imports = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+(?<!\.json))'/g)].map(([, specifier = '']) => ({
    file,
    imported: normalize(join(dirname(file), specifier)),
  })),
)

const named = ({ file, imported }: { file: string; imported: string }) => `${file} imports ${imported}`

test('every file is in a room', () => {
  expect(files.filter((file) => !FLOORS.includes(roomOf(file)))).toEqual([])
  expect(files.filter((file) => roomOf(file) === 'entries').toSorted()).toEqual([
    'src/index.ts',
    'src/local.ts',
    'src/main.ts',
    'src/resend-command.ts',
  ])
})

test('src has eight folders', () => {
  expect(new Set(files.flatMap((file) => /^src\/[^/]+(?=\/)/.exec(file) ?? [])).size).toBe(8)
})

test('imports go one way, down', () => {
  const floor = (file: string) => FLOORS.indexOf(roomOf(file))
  expect(imports.filter(({ file, imported }) => floor(imported) < floor(file)).map(named)).toEqual([])
})

test('features import each other only where one rests on another', () => {
  const isFeature = (file: string) => FEATURES.includes(roomOf(file).replace('features/', ''))
  const between = imports.filter(
    ({ file, imported }) => roomOf(file) !== roomOf(imported) && [file, imported].every(isFeature),
  )
  expect(new Set(between.map(({ file, imported }) => `${roomOf(file)} imports ${roomOf(imported)}`))).toEqual(
    new Set(['features/service-mesh imports features/coordinated-workers']),
  )
})

test('the embedded API rests on the platform alone', () => {
  const others = imports.filter(
    ({ file, imported }) => roomOf(file).startsWith('embedded/') && !/^(embedded|platform)\//.test(roomOf(imported)),
  )
  expect(others.map(named)).toEqual([])
})

/** Sentences about Istio in comments bind nobody. */
const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

test('Istio is named by its mesh and by questions, and elsewhere where the reason is listed', () => {
  const naming = files.filter((file) => /istio|ztunnel/i.test(withoutComments(readFileSync(file, 'utf8'))))
  const others = naming.filter((file) => !/^src\/(mesh\/istio|ask)\//.test(file))
  expect(others.filter((file) => !KNOW_ISTIO.some((one) => one.test(file)))).toEqual([])
  expect(KNOW_ISTIO.filter((one) => !others.some((file) => one.test(file)))).toEqual([])
})

test('the docs have the table of wings and rooms', () => {
  expect(readFileSync('docs/contributing.md', 'utf8')).toContain(wingsTable())
})

test('no file of the core imports one that imports it', () => {
  const core = Map.groupBy(
    imports.filter(({ file }) => file.startsWith('src/core/')),
    ({ file }) => file,
  )
  const circle = (file: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return undefined
    done.add(file)
    return (core.get(file) ?? []).map(({ imported }) => circle(imported, [...path, file])).find(Boolean)
  }
  const done = new Set<string>()
  expect([...core.keys()].map((file) => circle(file, [])).find(Boolean)).toBeUndefined()
})
