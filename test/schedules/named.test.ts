import { expect, test } from 'vitest'
import { documentHistories } from './named-documents.ts'
import { idHistories } from './named-ids.ts'
import { lossHistories } from './named-losses.ts'
import { orderHistories } from './named-order.ts'
import { placeHistories } from './named-places.ts'
import { relationHistories } from './named-relations.ts'
import { waitHistories } from './named-waits.ts'
import { runNamed } from './script.ts'

const histories = [
  ...relationHistories,
  ...idHistories,
  ...orderHistories,
  ...lossHistories,
  ...documentHistories,
  ...placeHistories,
  ...waitHistories,
]

for (const named of histories)
  test(named.name, async () => {
    const { violations, trace } = await runNamed(named)
    const text = violations.map(({ property, details }) => [property, ...details].join('\n  ')).join('\n')
    expect(violations, `${trace.join('\n')}\n\n${text}\n`).toEqual([])
  })
