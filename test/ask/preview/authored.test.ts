import { describe, expect, test } from 'vitest'
import { authoredBy } from '../../../src/ask/preview/authored.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'

const JANE = { username: 'jane', groups: ['team-a', 'team-b'] }

const document = (annotations?: Record<string, string>): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'web',
    namespace: 'shop',
    labels: { 'meshstep.dev/kind': 'config' },
    ...(annotations && { annotations }),
  },
  data: { application: 'web', config: '{}' },
})

describe('a document that is planned', () => {
  test('a document that is planned is that of whoever asks when it names no author, and that is said', () => {
    const { objects, messages } = authoredBy(JANE, [document({ team: 'blue' })])
    expect(objects.map(({ metadata }) => metadata.annotations)).toEqual([
      { team: 'blue', 'meshstep.dev/author': 'jane', 'meshstep.dev/author-groups': 'team-a,team-b' },
    ])
    expect(messages).toEqual([expect.stringContaining('annotate with meshstep.dev/author: jane')])
  })

  test('a document that is planned stays as it is when it names whoever asks', () => {
    const own = document({ 'meshstep.dev/author': 'jane' })
    expect(authoredBy(JANE, [own])).toEqual({ objects: [own], messages: [] })
  })

  test('a document that is planned is refused when it names another one', () => {
    expect(() => authoredBy(JANE, [document({ 'meshstep.dev/author': 'joe' })])).toThrow(/names joe as its author/)
  })

  test('a document that is planned is refused when it names a group that whoever asks is not in', () => {
    const named = (groups: string) => document({ 'meshstep.dev/author': 'jane', 'meshstep.dev/author-groups': groups })
    expect(authoredBy(JANE, [named('team-b')]).objects).toEqual([named('team-b')])
    expect(() => authoredBy(JANE, [named('team-a,system:masters')])).toThrow(
      /names the group system:masters .* and you are not in it/,
    )
  })

  test('a document that is planned is no other object', () => {
    const other = { ...document(), metadata: { name: 'x', namespace: 'shop' } }
    expect(authoredBy(JANE, [other])).toEqual({ objects: [other], messages: [] })
  })
})
