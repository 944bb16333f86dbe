import { type Browser, chromium } from 'playwright-core'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { chromiumProgram } from '../serve/page/chromium.ts'
import { bookinfo, copies, holding, kept, REGIONS, shop, startPage } from '../serve/page/world.ts'
import { figureOf, type Table } from './figures.ts'

type Look = { readonly answered: number; readonly cpu: number; readonly painted: number; readonly drawn: number }

/** The times are of the browser's clock, from the start of its navigation. */
const look = async (browser: Browser, url: string): Promise<Look> => {
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  await (await fetch(`${url}/map`)).arrayBuffer()
  const [answered, used] = [performance.now() - began, process.cpuUsage(cpu)]
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 } })
  const page = await context.newPage()
  await page.goto(url)
  await page.waitForSelector('body[data-version]', { state: 'attached', timeout: 120_000 })
  const times = await page.evaluate(
    `[performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.getEntriesByName('drawn')[0].startTime]`,
  )
  const [painted = Number.NaN, drawn = Number.NaN] = times as number[]
  await context.close()
  return { answered, cpu: (used.user + used.system) / 1_000, painted, drawn }
}

const measured = async (browser: Browser, objects: readonly KubernetesObject[], rounds: number): Promise<Look[]> => {
  const server = await startPage(holding(objects))
  const looks: Look[] = []
  for (let round = 0; round < rounds; round += 1) looks.push(await look(browser, server.url))
  await server.stop()
  return looks
}

/** How soon the page is there with 5, 50 and 500 applications; undefined without Chromium. */
export const page = async (rounds: number): Promise<Table | undefined> => {
  if (chromiumProgram === undefined) return undefined
  const fifty = await shop()
  const worlds = [
    [5, kept(await bookinfo(), 'bookinfo')],
    [50, fifty],
    [500, copies(fifty, REGIONS)],
  ] as const
  const browser = await chromium.launch({ executablePath: chromiumProgram, args: ['--no-sandbox'] })
  const rows: Table['rows'][number][] = []
  for (const [applications, objects] of worlds) {
    const looks = await measured(browser, objects, rounds)
    const of = (key: keyof Look) => figureOf(looks.map((one) => one[key]))
    rows.push({
      applications,
      'map answered, ms': of('answered'),
      'CPU ms of it': of('cpu'),
      'first paint, ms': of('painted'),
      'map drawn, ms': of('drawn'),
    })
  }
  await browser.close()
  return {
    title: 'The page: from its address to the map',
    note: `${rounds} looks each with an empty cache, medians, and the middle half in brackets. Server, its API and browser share the machine.`,
    rows,
  }
}
