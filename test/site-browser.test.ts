import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import { chromium } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { buildSite } from '../tools/docs/site.ts'
import { chromiumProgram } from './serve/page/chromium.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
}

/** Serves the site, and opens a page of it; a page that complains fails the test. */
const open = async (path: string) => {
  const site = buildSite()
  const server = createServer((request, response) => {
    const name = decodeURI(String(request.url).slice(1))
    response.writeHead(name in site ? 200 : 404, { 'content-type': TYPES[extname(name)] ?? 'text/plain' })
    response.end(site[name])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const browser = await chromium.launch({ executablePath: chromiumProgram, args: ['--no-sandbox'] })
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('favicon')) complaints.push(message.text())
  })
  onTestFinished(async () => {
    await browser.close()
    server.close()
    expect(complaints).toEqual([])
  })
  await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }))
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`)
  return page
}

test.skipIf(chromiumProgram === undefined)('a search leads to the section that has the words', async () => {
  const page = await open('docs/how-to/harden.html')
  await page.fill('input[type=search]', 'nowordlikethis')
  await page.waitForSelector('#found li')
  expect(await page.textContent('#found')).toBe('No page has these words.')
  await page.fill('input[type=search]', 'lost memory')
  await page.waitForSelector('#found a')
  await page.click('#found a')
  await page.waitForURL(/recover-a-lost-memory/)
  expect(await page.textContent('h1')).toContain('lost memory')
})

test.skipIf(chromiumProgram === undefined)('a button copies the commands of a terminal, with their files', async () => {
  const page = await open('docs/how-to/stateful-application.html')
  const block = page.locator('main > pre', { hasText: 'cat > db.yaml' }).first()
  const text = String(await block.locator('code').textContent())
  await block.locator('button').click()
  const copied = String(await page.evaluate('navigator.clipboard.readText()'))
  expect(text).toMatch(/^\$ cat > db.yaml <<'END'\n> workload:\n/m)
  expect(copied).toMatch(/^cat > db.yaml <<'END'\nworkload:\n {2}podSpec:\n/m)
  expect(copied.split('\n')).toHaveLength(1 + text.split('\n').filter((line) => /^[$>] /.test(line)).length)
})

test.skipIf(chromiumProgram === undefined)('a button copies any other block as it stands', async () => {
  const page = await open('docs/questions.html')
  const block = page.locator('main > pre').first()
  const text = await block.locator('code').textContent()
  await block.locator('button').click()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text)
})
