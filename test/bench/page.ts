import { type Browser, chromium } from 'playwright-core'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { until } from '../process/helpers.ts'
import { chromiumProgram } from '../serve/page/chromium.ts'
import { bookinfo, copies, holding, kept, REGIONS, shop, startPage, tell } from '../serve/page/world.ts'
import { figureOf, type Table } from './figures.ts'

type Look = Readonly<Record<'answered' | 'cpu' | 'painted' | 'drawn' | 'changed' | 'cpuChanged', number>>

/** The time of an answer, and the CPU of this process, which holds the server and its API. */
const answer = async (url: string) => {
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  await (await fetch(`${url}/map`)).arrayBuffer()
  const used = process.cpuUsage(cpu)
  return { answered: performance.now() - began, cpu: (used.user + used.system) / 1_000 }
}

/** Changes the policies of an application, so that the map changes. */
const change = (url: string, subject: string, port: number) =>
  tell(url, 'config-changed', subject, {
    config: { policies: [{ type: 'app', relation: 'x', endpoints: [{ ports: [port] }] }] },
  })

/** The times are of the browser's clock: of first looks from the start of its navigation, of a change from its arrival. */
const look = async (browser: Browser, url: string, subject: string, round: number): Promise<Look> => {
  const { answered, cpu } = await answer(url)
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 } })
  const page = await context.newPage()
  await page.goto(url)
  await page.waitForSelector('body[data-version]', { state: 'attached', timeout: 120_000 })
  const times = await page.evaluate(
    `[performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.getEntriesByName('drawn')[0].startTime]`,
  )
  const [painted = Number.NaN, drawn = Number.NaN] = times as number[]
  await change(url, subject, 2 * round + 1)
  const isChanged = () => page.evaluate('performance.getEntriesByName("changed").length > 0')
  await until('the change is drawn', async () => (await isChanged()) === true, 120_000)
  const changed = Number(await page.evaluate('performance.getEntriesByName("changed")[0].duration'))
  await context.close()
  await change(url, subject, 2 * round + 2)
  const { cpu: cpuChanged } = await answer(url)
  return { answered, cpu, painted, drawn, changed, cpuChanged }
}

const measured = async (
  browser: Browser,
  objects: readonly KubernetesObject[],
  subject: string,
  rounds: number,
): Promise<Look[]> => {
  const looks: Look[] = []
  for (let round = 0; round < rounds; round += 1) {
    const server = await startPage(holding(objects))
    looks.push(await look(browser, server.url, subject, round))
    await server.stop()
  }
  return looks
}

/** How soon the page is there with 5, 50 and 500 applications; undefined without Chromium. */
export const page = async (rounds: number): Promise<Table | undefined> => {
  if (chromiumProgram === undefined) return undefined
  const fifty = await shop()
  const worlds = [
    [5, kept(await bookinfo(), 'bookinfo'), 'bookinfo/details'],
    [50, fifty, 'shop/cart-api'],
    [500, copies(fifty, REGIONS), `${REGIONS[0]}/cart-api`],
  ] as const
  const browser = await chromium.launch({ executablePath: chromiumProgram, args: ['--no-sandbox'] })
  const rows: Table['rows'][number][] = []
  for (const [applications, objects, subject] of worlds) {
    const looks = await measured(browser, objects, subject, rounds)
    const of = (key: keyof Look) => figureOf(looks.map((one) => one[key]))
    rows.push({
      applications,
      'map answered, ms': of('answered'),
      'CPU ms of it': of('cpu'),
      'first paint, ms': of('painted'),
      'map drawn, ms': of('drawn'),
      'a change drawn, ms': of('changed'),
      'CPU ms of /map after it': of('cpuChanged'),
    })
  }
  await browser.close()
  return {
    title: 'The page: from its address to the map',
    note: `${rounds} looks each, at a new server with an empty cache; medians, and the middle half in brackets. Server, its API and browser share the machine.`,
    rows,
  }
}
