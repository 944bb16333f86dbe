import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseRequester, requesterName } from '../../../src/core/relations/requester-names.ts'

const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,20}[a-z0-9])?$/)

test('the name of a requester says which relation of which application it is, whatever the endpoint is called', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      name,
      name,
      name,
      fc.option(name, { nil: undefined }),
      (id, endpoint, own, application, namespace) => {
        const remote = { application, ...(namespace !== undefined && { namespace }) }
        const text = requesterName({ namespace: own, application: 'beacon' }, { id, endpoint, remote })
        expect(parseRequester(text)).toEqual({
          id: String(id),
          requester: { namespace: namespace ?? own, application },
        })
      },
    ),
  )
})

test('another text names no requester', () => {
  for (const text of ['', 'Namespace shop', 'relation 7 (service-mesh)', 'relation x (a) of shop/db'])
    expect(parseRequester(text)).toBe(undefined)
})
