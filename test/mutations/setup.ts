import { appendFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'

const { MUTANT = '-1', MUTANTS_REACHED, MUTANT_PID } = process.env

/** A loop that never ends is stopped from outside. */
if (MUTANT_PID !== undefined) writeFileSync(MUTANT_PID, String(process.pid))

const active = Number(MUTANT)
const reached = new Set<number>()
const loading = new Set<number>()

Object.assign(globalThis, {
  mutation: (id: number): boolean => {
    reached.add(id)
    return id === active
  },
})

/** Modules are loaded by the first file that imports them: what runs then is reached by others too. */
beforeAll(() => {
  for (const id of reached) loading.add(id)
  reached.clear()
})

afterAll(() => {
  if (MUTANTS_REACHED === undefined) return
  const line = { file: expect.getState().testPath, reached: [...reached], loading: [...loading] }
  appendFileSync(MUTANTS_REACHED, `${JSON.stringify(line)}\n`)
})
