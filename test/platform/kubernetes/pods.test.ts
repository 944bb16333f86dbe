import { expect, test } from 'vitest'
import type { Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { livePods } from '../../../src/platform/kubernetes/pods.ts'
import { workload } from '../../helpers/world.ts'

const UID = 'uid-web'
const OWNER = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: UID, controller: true }

const podOf = (name: string, ownerReferences = [OWNER]): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', ownerReferences },
})

/** A workload with a spec and a status, which its controller has seen. */
const made = (
  spec: Record<string, unknown>,
  status: Record<string, unknown> = {},
  kind: 'StatefulSet' | 'Deployment' = 'StatefulSet',
): KubernetesObject => {
  const object = workload(kind)
  return {
    ...object,
    metadata: { ...object.metadata, uid: UID, generation: 2 },
    spec: { ...object.spec, ...spec },
    status: { observedGeneration: 2, ...status },
  }
}

/** A cluster of these pods, and what is asked of it. */
const createCluster = (pods: readonly KubernetesObject[]) => {
  const asked: string[] = []
  const kubernetes = {
    find: async ({ name }: { name: string }) => {
      asked.push(name)
      return pods.find(({ metadata }) => metadata.name === name)
    },
    list: async () => {
      asked.push('all')
      return pods
    },
  } as unknown as Kubernetes
  return { asked, kubernetes }
}

test.each<[string, KubernetesObject, string[]]>([
  ['more than a few are listed', made({ replicas: 5 }), ['all']],
  ['so are those of a Deployment, whose names nobody knows', made({ replicas: 1 }, {}, 'Deployment'), ['all']],
  ['so are those whose numbers do not begin at 0', made({ replicas: 1, ordinals: { start: 1 } }), ['all']],
  ['so are those that its controller has yet to see', made({ replicas: 1 }, { observedGeneration: 1 }), ['all']],
  [
    'so are those of a StatefulSet that nobody has looked at',
    made({ replicas: 1 }, { observedGeneration: 0 }),
    ['all'],
  ],
  ['so are more than are wanted, some of which go', made({ replicas: 1 }, { replicas: 2 }), ['all']],
  ['a few are read by their names', made({ replicas: 3 }, { replicas: 2 }), ['web-0', 'web-1', 'web-2']],
  ['one that is not said is one', made({ replicas: undefined }), ['web-0']],
  ['none are none', made({ replicas: 0 }), []],
])('the pods of a workload: %s', async (_, object, calls) => {
  const { asked, kubernetes } = createCluster([])
  await livePods(kubernetes, object)
  expect(asked).toEqual(calls)
})

test.each([made({ replicas: 4 }), made({ replicas: 5 })])(
  'of the pods there are those that live and are of it',
  async (of) => {
    const pods = [
      podOf('web-0'),
      podOf('web-1', [{ ...OWNER, uid: 'of a namesake' }]),
      { ...podOf('web-2'), status: { phase: 'Failed' } },
    ]
    const { kubernetes } = createCluster(pods)
    expect((await livePods(kubernetes, of)).map(({ metadata }) => metadata.name)).toEqual(['web-0'])
  },
)
