import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const DOCSTRING = /\/\*\*[\s*]*(?<first>\w+)/g
const QUESTION = /^(what|whatever|whether|who|whoever|whose|where|wherever|how|why|which|whichever|when|whenever)$/i

const questionsIn = (file: string): string[] => {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(DOCSTRING)]
    .filter(({ groups }) => QUESTION.test(groups?.first ?? ''))
    .map(({ index, groups }) => `${file}:${text.slice(0, index).split('\n').length} begins with ${groups?.first}`)
}

test('a docstring begins with its subject, not with a question word', () => {
  const files = globSync(['src/**/*.ts', 'functions/**/*.ts'])
  expect(files).not.toEqual([])
  expect(files.flatMap(questionsIn)).toEqual([])
})

/** Words that go on with a sentence that stands elsewhere. */
const CONTINUED = /\btest(?:\.\w+)?\(\s*['"`](and|nor|also|but)\b/g

test('the name of a test does not go on with the sentence of another one', () => {
  const files = globSync('test/!(embedded)/**/*.test.ts')
  const going = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(CONTINUED)].map(([, word]) => [file, word]),
  )
  expect(files).not.toEqual([])
  expect(going).toEqual([])
})
