import { expect, test } from 'vitest'
import { jsonPatch, PatchFailure } from '../../../src/embedded/apply/json-patch.ts'
import { mergePatch } from '../../../src/embedded/apply/merge-patch.ts'
import { strategicMerge } from '../../../src/embedded/apply/strategic-merge.ts'
import { modelShape } from '../../../src/embedded/kinds/models.ts'
import type { Json } from '../../../src/platform/base/json.ts'

// The examples of RFC 7396, appendix A.
const merges: [target: Json, patch: Json, result: Json][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

test.each(merges)('merge patch: %j with %j is %j', (target, patch, result) => {
  expect(mergePatch(target, patch)).toEqual(result)
})

const operations: [document: Json, operations: Json[], result: Json | 'fails'][] = [
  [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
  [{ a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
  [{ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
  [{ a: [1] }, [{ op: 'add', path: '/a/2', value: 2 }], 'fails'],
  [{ a: 1 }, [{ op: 'add', path: '/b/c', value: 2 }], 'fails'],
  [{ a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
  [{ a: [1, 2] }, [{ op: 'remove', path: '/a/0' }], { a: [2] }],
  [{ a: 1 }, [{ op: 'remove', path: '/b' }], 'fails'],
  [{ a: 1 }, [{ op: 'replace', path: '/a', value: null }], { a: null }],
  [{ a: 1 }, [{ op: 'replace', path: '/b', value: 2 }], 'fails'],
  [
    { 'a/b': 1, 'm~n': 2 },
    [
      { op: 'test', path: '/a~1b', value: 1 },
      { op: 'remove', path: '/m~0n' },
    ],
    { 'a/b': 1 },
  ],
  [{ a: { b: [1, { c: 2 }] } }, [{ op: 'test', path: '/a', value: { b: [1, { c: 2 }] } }], { a: { b: [1, { c: 2 }] } }],
  [{ a: 1 }, [{ op: 'test', path: '/a', value: 2 }], 'fails'],
  [{ a: 1 }, [{ op: 'test', path: '/b', value: 2 }], 'fails'],
  [{ a: 1 }, [{ op: 'remove', path: 'a' }], 'fails'],
  [{ a: 1 }, [{ op: 'frob', path: '/a' }], 'fails'],
  [{ a: 1 }, [{ op: 'remove' }], 'fails'],
  [{ a: 1 }, [{ path: '/a' }], 'fails'],
  [{ a: 1 }, [{ op: 'remove', path: 1 }], 'fails'],
  [{ a: 1 }, [{ op: 'test', path: '/constructor', value: 1 }], 'fails'],
]

test.each(operations)('JSON patch: %j with %j is %j', (document, patch, result) => {
  const before = structuredClone(document)
  if (result === 'fails') expect(() => jsonPatch(document, patch)).toThrow(PatchFailure)
  else expect(jsonPatch(document, patch)).toEqual(result)
  expect(document).toEqual(before)
})

const pod = (spec: Json): Json => ({ spec })
const containers = (...items: Json[]): Json => pod({ containers: items })

const strategic: { name: string; current: Json; patch: Json; result: Json }[] = [
  {
    name: 'containers merge by name, ports by containerPort',
    current: containers({ name: 'a', image: '1', ports: [{ containerPort: 80 }] }, { name: 'b' }),
    patch: containers({ name: 'a', image: '2', ports: [{ containerPort: 80, name: 'http' }, { containerPort: 81 }] }),
    result: containers(
      { name: 'a', image: '2', ports: [{ containerPort: 80, name: 'http' }, { containerPort: 81 }] },
      { name: 'b' },
    ),
  },
  {
    name: '$patch: delete takes one item away',
    current: containers({ name: 'a' }, { name: 'b' }),
    patch: containers({ name: 'a', $patch: 'delete' }),
    result: containers({ name: 'b' }),
  },
  {
    name: '$patch: replace replaces a list',
    current: containers({ name: 'a' }, { name: 'b' }),
    patch: containers({ name: 'c' }, { $patch: 'replace' }),
    result: containers({ name: 'c' }),
  },
  {
    name: '$patch: replace replaces a map',
    current: pod({ securityContext: { runAsUser: 1, runAsGroup: 2 } }),
    patch: pod({ securityContext: { runAsUser: 3, $patch: 'replace' } }),
    result: pod({ securityContext: { runAsUser: 3 } }),
  },
  {
    name: '$setElementOrder orders what is there, before items of others',
    current: containers({ name: 'other' }, { name: 'a' }, { name: 'b' }),
    patch: pod({
      '$setElementOrder/containers': [{ name: 'b' }, { name: 'c' }, { name: 'a' }],
      containers: [{ name: 'c' }],
    }),
    result: containers({ name: 'b' }, { name: 'c' }, { name: 'a' }, { name: 'other' }),
  },
  {
    name: '$deleteFromPrimitiveList takes values out of a set',
    current: { metadata: { finalizers: ['a', 'b'] } },
    patch: { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], finalizers: ['c'] } },
    result: { metadata: { finalizers: ['b', 'c'] } },
  },
  {
    name: '$retainKeys drops the other members',
    current: { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } },
    patch: { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
    result: { spec: { strategy: { type: 'Recreate' } } },
  },
  {
    name: 'a list without a merge key is replaced',
    current: containers({ name: 'a', args: ['x', 'y'] }),
    patch: containers({ name: 'a', args: ['z'] }),
    result: containers({ name: 'a', args: ['z'] }),
  },
  {
    name: 'null removes, also in something new',
    current: pod({ nodeName: 'n' }),
    patch: pod({ nodeName: null, affinity: { nodeAffinity: null, podAffinity: {} } }),
    result: pod({ affinity: { podAffinity: {} } }),
  },
]

test.each(strategic)('strategic merge patch: $name', ({ current, patch, result }) => {
  expect(strategicMerge(current, patch, modelShape('V1Pod'))).toEqual(result)
})
