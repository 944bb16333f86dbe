import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { createLayout, type ElkNode, type Item, type Line } from '../../../src/serve/page/browser/layout.js'

const Elk = createRequire(import.meta.url)('elkjs') as new () => { layout(graph: ElkNode): Promise<ElkNode> }

/** A layout, and the graphs that it has computed. */
const create = () => {
  const elk = new Elk()
  const computed: string[] = []
  const layOut = createLayout((graph) => {
    computed.push((graph.children ?? []).map(({ id }) => id).join(' '))
    return elk.layout(graph)
  })
  return { layOut, computed }
}

const item = (id: string, group?: string): Item => {
  const [namespace = ''] = id.split('/')
  return { id, namespace, width: 100 + (id.length % 5) * 20, height: 46, ...(group && { group }) }
}

/** Three namespaces of 20 applications, each with a group of two, and lines within and between them. */
const world = (): { items: Item[]; lines: Line[] } => {
  const items = Array.from({ length: 60 }, (_, index) => {
    const namespace = `n${index % 3}`
    return item(`${namespace}/a${index}`, index < 6 ? `${namespace}/g` : undefined)
  })
  const lines = items.flatMap(({ id }, index) =>
    index % 4 === 0 ? [] : [{ from: id, to: items[(index * 7) % 60]?.id ?? '' }],
  )
  return { items, lines }
}

test('no application lies on another one, and each lies in the frames of its namespace and of its group', async () => {
  const { items, lines } = world()
  const { places, frames } = await create().layOut(items, lines)
  const boxes = items.map(({ id, namespace, group, width, height }) => {
    const { x, y } = places.get(id) ?? { x: Number.NaN, y: Number.NaN }
    return {
      id,
      namespace,
      group,
      left: x - width / 2,
      right: x + width / 2,
      top: y - height / 2,
      bottom: y + height / 2,
    }
  })
  const overlapping = boxes.flatMap((one, index) =>
    boxes
      .slice(index + 1)
      .filter(
        (other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom,
      )
      .map((other) => `${one.id} ${other.id}`),
  )
  expect(overlapping).toEqual([])
  for (const { namespace, group, left, right, top, bottom } of boxes)
    for (const home of [namespace, ...(group ? [group] : [])]) {
      const { x = 0, y = 0, width = 0, height = 0 } = frames.find(({ id }) => id === home) ?? {}
      expect([left >= x, right <= x + width, top >= y, bottom <= y + height]).toEqual([true, true, true, true])
    }
})

test('an application is left of those that it calls', async () => {
  const names = ['web', 'api', 'db']
  const lines = [
    { from: 's/api', to: 's/db' },
    { from: 's/web', to: 's/api' },
  ]
  const { places } = await create().layOut(names.map((name) => item(`s/${name}`)).toReversed(), lines)
  const [web = Number.NaN, api = Number.NaN, db = Number.NaN] = names.map((name) => places.get(`s/${name}`)?.x)
  expect([web < api, api < db]).toEqual([true, true])
})

test('a closed namespace is one box among the others, and its lines count for it', async () => {
  const items = [item('namespace a'), item('b/one'), item('b/two')].map((one) =>
    one.id === 'namespace a' ? { ...one, namespace: 'a' } : one,
  )
  const lines = [{ from: 'b/one', to: 'namespace a' }]
  const { places, frames } = await create().layOut(items, lines, new Set(['namespace a']))
  expect(frames.map(({ id }) => id)).toEqual(['b'])
  const [frame] = frames
  expect(places.get('namespace a')?.x).toBeGreaterThan((frame?.x ?? Number.NaN) + (frame?.width ?? Number.NaN))
})

test('what did not change is not computed again: neither the same map, nor a namespace beside one that changed', async () => {
  const { items, lines } = world()
  const { layOut, computed } = create()
  await layOut(items, lines)
  computed.length = 0
  await layOut(items, lines)
  expect(computed).toEqual([])
  await layOut([...items, item('n1/new')], lines)
  expect(computed.filter((ids) => ids.includes('n1/new'))).not.toEqual([])
  expect(computed.filter((ids) => /n[02]\//.test(ids))).toEqual([])
})

test('many applications that are all related are placed in rows, where they can be told apart', async () => {
  const items = Array.from({ length: 40 }, (_, index) => item(`s/a${index}`))
  const lines = items.flatMap(({ id: from }, index) => items.slice(0, index).map(({ id: to }) => ({ from, to })))
  const { width, height } = await create().layOut(items, lines)
  expect([width < 1_600, height < 900]).toEqual([true, true])
})
