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
