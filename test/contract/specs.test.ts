import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BAD_SPECS, goodSpec } from './bad-specs.ts'
import { type Cluster, openCluster } from './cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster()
})
afterAll(() => cluster.close())

const newName = () => `web-${crypto.randomUUID().slice(0, 8)}`

const tell = (application: string, workload: unknown) =>
  cluster.send('config-changed', { application, config: { workload } })

type Template = { spec: { containers: { image: string }[] } }

const imageOf = async (application: string) => {
  const reference = { kind: 'Deployment', namespace: cluster.namespace, name: application } as const
  const template = (await cluster.kubernetes.find(reference))?.spec?.template as Template | undefined
  return template?.spec.containers[0]?.image
}

describe('a bad pod spec', () => {
  test.each(BAD_SPECS)('%s: is refused, and what runs stays and can be corrected', async (_, workload, told) => {
    const application = newName()
    await tell(application, goodSpec())
    const refused = await tell(application, workload).catch((error: unknown) => error)
    expect(refused).toMatchObject({ name: 'Refused', status: 400, message: expect.stringMatching(told) })
    expect(await imageOf(application)).toBe('example.invalid/web:1')
    expect(await tell(application, goodSpec('example.invalid/web:2'))).toMatchObject({ status: 'changed' })
    expect(await imageOf(application)).toBe('example.invalid/web:2')
  })

  test('of a new application leaves nothing', async () => {
    const application = newName()
    const [[, workload] = []] = BAD_SPECS
    await expect(tell(application, workload)).rejects.toMatchObject({ status: 400 })
    const memory = `juju-service-mesh-${application}-labels`
    const reference = { kind: 'ConfigMap', namespace: cluster.namespace, name: memory } as const
    expect(await cluster.kubernetes.find(reference)).toBeUndefined()
  })
})

test('claims that are to have another size are refused with the way to it', async () => {
  const application = newName()
  await tell(application, goodSpec(undefined, '1Gi'))
  const refused = await tell(application, goodSpec(undefined, '2Gi')).catch((error: unknown) => error)
  expect(refused).toMatchObject({
    status: 400,
    message: expect.stringMatching(
      /updates to statefulset spec .*resize the PersistentVolumeClaims, .*--cascade=orphan/,
    ),
  })
})
