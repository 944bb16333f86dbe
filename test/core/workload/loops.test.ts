import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { Config, SpecSource } from '../../../src/core/state/config.ts'
import type { Relation } from '../../../src/core/state/relation.ts'
import { noUnits, type Units } from '../../../src/core/units/units.ts'
import { withAcceptedConfig } from '../../../src/core/workload/accepted.ts'
import { churnMessage, findChurn } from '../../../src/core/workload/churn/evidence.ts'
import { ConfigChurn } from '../../../src/core/workload/churn/history.ts'
import { ownWorkload } from '../../../src/core/workload/config.ts'
import { concealed, rememberedKeys } from '../../../src/core/workload/secrets.ts'
import { features } from '../../../src/features.ts'
import { createEmptyWorld, deployed, podSpec, unitsOf, view } from '../../helpers/application.ts'
import { some } from '../../helpers/runs.ts'
import type { World } from '../../helpers/world.ts'

type Json = Record<string, unknown>

/** What a unit tells with a value in it, or with a list of them. */
type Tell = (values: readonly string[]) => Json

const kubernetes =
  (workload: (values: readonly string[]) => Json): Tell =>
  (values) => ({ workload: { podSpec: podSpec(), ...workload(values) } })

const container = (fields: (values: readonly string[]) => Json): Tell =>
  kubernetes((values) => ({ podSpec: podSpec('web:1', fields(values)) }))

const juju = (parts: {
  container?: (values: readonly string[]) => Json
  spec?: (values: readonly string[]) => Json
}): Tell => {
  const { container: fields = () => ({}), spec = () => ({}) } = parts
  return (values) => ({
    workload: {
      podSpec: {
        version: 3,
        containers: [
          {
            name: 'web',
            imageDetails: { imagePath: 'web:1' },
            ports: [{ containerPort: 80, name: 'http' }],
            ...fields(values),
          },
        ],
        ...spec(values),
      },
    },
  })
}

/** One text of all values. */
const joined = (values: readonly string[]): string => values.join('-')

/** A key for each value. */
const keyed = (values: readonly string[]): Record<string, string> =>
  Object.fromEntries(values.map((value, index) => [`k${index}`, value]))

const base64 = (texts: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]))

const variables = (values: readonly string[], name = 'RUN') =>
  values.map((value, index) => ({ name: `${name}${index}`, value }))

const stateful = (workload: (values: readonly string[]) => Json): Tell =>
  kubernetes((values) => ({ deployment: { type: 'stateful' }, ...workload(values) }))

const ports = (values: readonly string[]) =>
  values.map((value) => ({ port: 1_000 + Number(value.slice(1)), name: value }))

/** All that a unit may tell of its application's workload, in the form of Kubernetes and in Juju's own. */
const TOLD: readonly (readonly [what: string, tell: Tell])[] = [
  ['an image', container((values) => ({ image: `web:${joined(values)}` }))],
  ['arguments', container((values) => ({ args: [...values] }))],
  ['a command', container((values) => ({ command: ['run', ...values] }))],
  ['variables', container((values) => ({ env: variables(values) }))],
  ['a secret variable', container((values) => ({ env: [{ name: 'TOKEN', value: joined(values) }] }))],
  ['secret variables', container((values) => ({ env: variables(values, 'TOKEN_') }))],
  [
    'resources',
    container((values) => ({
      resources: { requests: { memory: `${joined(values).length}${values.at(-1)?.slice(1)}Mi` } },
    })),
  ],
  [
    'volumes',
    kubernetes((values) => ({ podSpec: { ...podSpec(), volumes: values.map((name) => ({ name, emptyDir: {} })) } })),
  ],
  [
    'init containers',
    kubernetes((values) => ({
      podSpec: { ...podSpec(), initContainers: values.map((name) => ({ name, image: 'i' })) },
    })),
  ],
  [
    'tolerations',
    kubernetes((values) => ({
      podSpec: { ...podSpec(), tolerations: values.map((key) => ({ key, operator: 'Exists' })) },
    })),
  ],
  ['a node selector', kubernetes((values) => ({ podSpec: { ...podSpec(), nodeSelector: keyed(values) } }))],
  ['annotations of pods', kubernetes((values) => ({ podMetadata: { annotations: keyed(values) } }))],
  ['labels of pods', kubernetes((values) => ({ podMetadata: { labels: keyed(values) } }))],
  ['a text in a ConfigMap', kubernetes((values) => ({ configMaps: { 'web-files': { file: joined(values) } } }))],
  ['texts in a ConfigMap', kubernetes((values) => ({ configMaps: { 'web-files': keyed(values) } }))],
  [
    'ConfigMaps',
    kubernetes((values) => ({
      configMaps: Object.fromEntries(values.map((value) => [`web-${value}`, { file: 'x' }])),
    })),
  ],
  ['a text in a Secret', kubernetes((values) => ({ secrets: { 'web-keys': { key: joined(values) } } }))],
  ['texts in a Secret', kubernetes((values) => ({ secrets: { 'web-keys': keyed(values) } }))],
  [
    'Secrets',
    kubernetes((values) => ({ secrets: Object.fromEntries(values.map((value) => [`web-${value}`, { key: 'x' }])) })),
  ],
  ['the name of an account', kubernetes((values) => ({ serviceAccount: { name: `web-${joined(values)}` } }))],
  ['annotations of an account', kubernetes((values) => ({ serviceAccount: { annotations: keyed(values) } }))],
  ['annotations of the Service', kubernetes((values) => ({ service: { annotations: keyed(values) } }))],
  ['ports of the Service', kubernetes((values) => ({ service: { ports: ports(values) } }))],
  [
    'a strategy',
    kubernetes((values) => ({
      strategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge: joined(values).length + Number(values.at(-1)?.slice(1)) },
      },
    })),
  ],
  [
    'an update strategy',
    stateful((values) => ({
      updateStrategy: {
        type: 'RollingUpdate',
        rollingUpdate: { partition: joined(values).length + Number(values.at(-1)?.slice(1)) },
      },
    })),
  ],
  [
    'the number of pods',
    kubernetes((values) => ({ replicas: 1 + values.length + (Number(values.at(-1)?.slice(1)) % 7) })),
  ],
  [
    'a disruption budget',
    kubernetes((values) => ({
      podDisruptionBudget: { minAvailable: values.length + Number(values.at(-1)?.slice(1)) },
    })),
  ],
  [
    'the host of the Service',
    kubernetes((values) => ({ deployment: { service: 'external', externalName: `${joined(values)}.example.com` } })),
  ],
  ['labels', (values) => ({ ...deployed().config, labels: keyed(values) })],
  ['settings in the config', (values) => ({ ...deployed().config, settings: keyed(values) })],
  ['a databag in the config', (values) => ({ ...deployed().config, databag: { website: keyed(values) } })],
  [
    'a Service that is offered',
    (values) => ({ ...deployed().config, services: { website: { name: joined(values), port: 80 } } }),
  ],
  ['roles of a worker', (values) => ({ ...deployed().config, worker: { roles: [...values] } })],
  [
    'the config of workers',
    (values) => ({ ...deployed().config, coordinator: { roles: ['all'], workerConfig: joined(values) } }),
  ],
  [
    'storage',
    stateful((values) => ({ volumeClaimTemplates: values.map((name) => ({ metadata: { name }, spec: {} })) })),
  ],
  ['Juju: an image', juju({ container: (values) => ({ imageDetails: { imagePath: `web:${joined(values)}` } }) })],
  ['Juju: envConfig', juju({ container: (values) => ({ envConfig: keyed(values) }) })],
  ['Juju: a secret in envConfig', juju({ container: (values) => ({ envConfig: { TOKEN: joined(values) } }) })],
  ['Juju: arguments', juju({ container: (values) => ({ args: [...values] }) })],
  [
    'Juju: a file',
    juju({
      container: (values) => ({
        volumeConfig: [{ name: 'conf', mountPath: '/conf', files: [{ path: 'app.conf', content: joined(values) }] }],
      }),
    }),
  ],
  [
    'Juju: files',
    juju({
      container: (values) => ({
        volumeConfig: [{ name: 'conf', mountPath: '/conf', files: values.map((path) => ({ path, content: 'x' })) }],
      }),
    }),
  ],
  [
    'Juju: volumes',
    juju({
      container: (values) => ({ volumeConfig: values.map((name) => ({ name, mountPath: `/${name}`, emptyDir: {} })) }),
    }),
  ],
  [
    'Juju: kubernetes of a container',
    juju({ container: (values) => ({ kubernetes: { startupProbe: { exec: { command: [...values] } } } }) }),
  ],
  ['Juju: configMaps', juju({ spec: (values) => ({ configMaps: { 'web-files': keyed(values) } }) })],
  [
    'Juju: a Secret’s stringData',
    juju({
      spec: (values) => ({
        kubernetesResources: { secrets: [{ name: 'web-keys', type: 'Opaque', stringData: keyed(values) }] },
      }),
    }),
  ],
  [
    'Juju: a Secret’s data',
    juju({
      spec: (values) => ({
        kubernetesResources: { secrets: [{ name: 'web-keys', data: base64({ key: joined(values) }) }] },
      }),
    }),
  ],
  [
    'Juju: Secrets',
    juju({
      spec: (values) => ({
        kubernetesResources: { secrets: values.map((value) => ({ name: `web-${value}`, stringData: { key: 'x' } })) },
      }),
    }),
  ],
  [
    'Juju: annotations of pods',
    juju({ spec: (values) => ({ kubernetesResources: { pod: { annotations: keyed(values) } } }) }),
  ],
  ['Juju: labels of pods', juju({ spec: (values) => ({ kubernetesResources: { pod: { labels: keyed(values) } } }) })],
  [
    'Juju: a priority class',
    juju({ spec: (values) => ({ kubernetesResources: { pod: { priorityClassName: joined(values) } } }) }),
  ],
  ['Juju: annotations of the Service', juju({ spec: (values) => ({ service: { annotations: keyed(values) } }) })],
  [
    'Juju: an update strategy',
    juju({
      spec: (values) => ({
        service: {
          updateStrategy: {
            type: 'RollingUpdate',
            rollingUpdate: { maxSurge: joined(values).length + Number(values.at(-1)?.slice(1)) },
          },
        },
      }),
    }),
  ],
]

/** What alternates, where there is no third value. */
const ALTERNATES: readonly (readonly [what: string, tell: (run: number) => Json])[] = [
  ['the type of deployment', (run) => deployed({ deployment: { type: run % 2 ? 'stateful' : 'stateless' } }).config],
  ['the kind of Service', (run) => deployed({ deployment: { service: run % 2 ? 'loadbalancer' : 'cluster' } }).config],
  ['the user’s kind of Service', (run) => deployed({ 'kubernetes-service-type': run % 2 ? 'omit' : 'cluster' }).config],
  [
    'the policy of a StatefulSet',
    (run) =>
      deployed({ deployment: { type: 'stateful' }, podManagementPolicy: run % 2 ? 'OrderedReady' : 'Parallel' }).config,
  ],
  [
    'the Service that names pods',
    (run) => deployed({ deployment: { type: 'stateful' }, serviceName: run % 2 ? 'one' : 'two' }).config,
  ],
  [
    'what is a secret',
    (run) =>
      deployed({ podSpec: podSpec('web:1', { env: [{ name: 'PIN', value: '1' }] }), secretEnv: { PIN: run % 2 === 0 } })
        .config,
  ],
  ['whether there is a workload', (run) => (run % 2 ? { workload: null } : deployed().config)],
  [
    'whose workload it is',
    (run) => (run % 2 ? { workload: { kind: 'StatefulSet', name: 'other' } } : deployed().config),
  ],
  [
    'whether the Service is labelled',
    (run) => deployed({}, { labels: { team: 'red' }, ...(run % 2 && { service: null }) }).config,
  ],
  [
    'how it is enrolled',
    (run) => deployed({}, { labels: { team: 'red' }, enrolment: run % 2 ? 'in-place' : 'rolling' }).config,
  ],
  ['a version', (run) => deployed({}, { versions: { 'k8s-service': run % 2 ? [0] : [1] } }).config],
  ['whether it runs the mesh', (run) => deployed({}, run % 2 ? { mesh: {} } : {}).config],
]

const GROWS = 'grows by one each time'

const STORIES: Readonly<Record<string, (run: number) => readonly string[]>> = {
  'is new each time': (run) => [`v${run}`],
  'alternates between two': (run) => [`v${run % 2}`],
  [GROWS]: (run) => Array.from({ length: run + 1 }, (_, index) => `v${index}`),
}

const TABLE = [
  ...TOLD.flatMap(([what, tell]) =>
    Object.entries(STORIES).map(([story, valuesOf]) => [what, story, (run: number) => tell(valuesOf(run))] as const),
  ),
  ...ALTERNATES.map(([what, tell]) => [what, 'alternates between two', tell] as const),
]

/** A cluster refuses changes of some fields, and a mesh needs more than there is. */
const IN_CLUSTER = TABLE.filter(
  ([what]) => !/StatefulSet|names pods|a workload|whose workload|enrolled|mesh|worker|storage/.test(what),
)

const TIMES = 14

/** A memory, and the values that are kept as secrets. */
type Memory = {
  readonly config: Config | undefined
  readonly configChurn: ConfigChurn | undefined
  readonly relations: Readonly<Record<string, Relation>>
  readonly units: Units
}

const EMPTY: Memory = { config: undefined, configChurn: undefined, relations: {}, units: noUnits() }

const MINUTE = 60_000

/** The config as the functions read it. Its secret values have keys, and those that nothing refers to are forgotten. */
const concealedConfig = (given: Json, memory: Memory, keys: Map<string, string>): Config => {
  const config = features.givenConfig.parse(given)
  const own = ownWorkload(config)
  if (own === undefined) return config
  const remembered = rememberedKeys(memory, 'web')
  const keep = (prefix: string, value: string): string => {
    const known = [...keys].find(([key, one]) => one === `${prefix} ${value}` && remembered.has(key))
    const key = known?.[0] ?? `${prefix}.${keys.size.toString(36)}`
    keys.set(key, `${prefix} ${value}`)
    return key
  }
  return { ...config, workload: concealed(own, 'web', keep) }
}

/** The configs in effect after each was told in turn, a minute after the one before, and the last memory. */
const played = (tell: (run: number) => Json, by: SpecSource, times = TIMES) => {
  const keys = new Map<string, string>()
  const configs: unknown[] = []
  let memory = EMPTY
  for (let run = 0; run <= times; run += 1) {
    const told = { ...memory, config: concealedConfig(tell(run), memory, keys) }
    const arrival = { application: 'web', by, now: new Date(run * MINUTE), relations: () => memory.relations }
    const next = withAcceptedConfig(memory, told, arrival)
    configs.push(next.config)
    memory = JSON.parse(JSON.stringify(next))
    ConfigChurn.optional().parse(memory.configChurn)
  }
  return { configs, memory }
}

const changesOf = (configs: readonly unknown[]): number =>
  configs.slice(1).filter((config, index) => !isDeepStrictEqual(config, configs[index])).length

describe('what a unit tells of its workload', () => {
  test.each(TABLE)('comes to rest where %s %s, and the place is told', (_, story, tell) => {
    const { configs, memory } = played(tell, 'unit')
    const atSixth = story !== GROWS || changesOf(configs) === 5
    expect(changesOf(configs)).toBe(atSixth ? 5 : 10)
    const [churning] = findChurn(memory.configChurn)
    expect(churning && churnMessage(churning)).toMatch(
      /^(\w+): changes by units are not applied any more, and the running value stays: units changed it (5|10) times within 30 minutes, and again.*differs in \1/,
    )
  })

  test.each(TABLE)('counts each time where a person or a document tells it and %s %s', (_what, _story, tell) => {
    for (const by of ['person', 'document'] as const) {
      const { configs, memory } = played(tell, by)
      expect([changesOf(configs), memory.configChurn]).toEqual([TIMES, undefined])
    }
  })

  test('is remembered with a bound, however long it goes on', () => {
    const tell = (run: number): Json => ({
      ...deployed({ configMaps: { 'web-files': { [`key${run}`]: 'x'.repeat(100) } } }).config,
      labels: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`label${index}`, `v${run}`])),
    })
    const sizes = [20, 200].map((times) => JSON.stringify(played(tell, 'unit', times).memory.configChurn).length)
    expect(Math.max(...sizes)).toBeLessThan(20_000)
    expect(Math.abs((sizes[1] ?? 0) - (sizes[0] ?? 0))).toBeLessThan(200)
  })

  test('who may reach whom follows each word of a unit, as that restarts nothing', () => {
    const policy = (run: number) => ({ type: 'app', relation: 'website', endpoints: [{ ports: [1_000 + run] }] })
    const { configs, memory } = played((run) => ({ ...deployed().config, policies: [policy(run)] }), 'unit')
    expect([changesOf(configs), memory.configChurn]).toEqual([TIMES, undefined])
  })
})

/** A world where a person has told the first of it. */
const begun = async (tell: (run: number) => Json): Promise<World> => {
  const world = createEmptyWorld()
  await world.send('config-changed', { config: tell(0) })
  await world.send('resync', {})
  return world
}

/** All that is deployed, as it is asked for. */
const deployedSpecs = (world: World): string =>
  JSON.stringify(
    world.api
      .objects()
      .filter(({ kind, metadata: { name } }) => kind !== 'Pod' && !/^(juju-service-mesh-|meshstep-)/.test(name))
      .map(({ kind, spec, data, metadata: { name, uid, annotations, labels } }) => [
        ...[kind, name, uid, annotations, labels, spec, data],
      ]),
  )

test.each(some(IN_CLUSTER, 30))(
  'the cluster comes to rest where each new unit tells something new, and the status says why: %s %s',
  async (_what, _story, tell) => {
    const world = await begun(tell)
    const states = [deployedSpecs(world)]
    for (let run = 1; run <= TIMES; run += 1) {
      world.clock.advance(20_000)
      const [unit = 'web/0'] = await unitsOf(world)
      await world.send('leader-elected', { unit, epoch: run })
      await world.send('config-changed', { config: tell(run), unit })
      states.push(deployedSpecs(world))
    }
    expect(states.slice(1).filter((state, index) => state !== states[index]).length).toBeLessThanOrEqual(10)
    expect(new Set(states.slice(-4)).size).toBe(1)
    expect((await view(world)).status).toMatchObject({
      status: 'blocked',
      message: expect.stringMatching(/^the config keeps changing and is not applied: \w/),
    })
  },
)
