import { mkdir, rm, writeFile } from 'node:fs/promises'
import { stringify } from 'yaml'
import { rulesMarkdown } from './src/ask/lint/rules-markdown.ts'
import { openApi } from './src/serve/http/open-api.ts'
import { referenceFiles } from './src/serve/schemas/reference-files.ts'
import { eventTypes } from './src/serve/schemas/schemas.ts'

await rm('docs/reference', { recursive: true, force: true })
await mkdir('docs/reference')
for (const [name, text] of Object.entries(referenceFiles())) await writeFile(`docs/reference/${name}`, text)
await writeFile('docs/reference/openapi.json', `${JSON.stringify(openApi(), null, 2)}\n`)
await writeFile(
  'knative/base/event-types.yaml',
  eventTypes()
    .map((one) => stringify(one))
    .join('---\n'),
)
await writeFile('docs/lint.md', rulesMarkdown())
