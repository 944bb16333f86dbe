import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { buildSite } from './docs/site.ts'

await rm('site', { recursive: true, force: true })
for (const [path, content] of Object.entries(buildSite())) {
  const file = join('site', path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, content)
}
