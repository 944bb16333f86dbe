import fc from 'fast-check'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { APPLICATION_LABEL } from '../../src/platform/kubernetes/ownership-labels.ts'
import { meshRelation } from './world.ts'

export const TENANT = 'tenant'
/** Who speaks for the others. */
export const ADMIN = 'admin'
export const AUTHOR = 'meshstep.dev/author'
const GROUPS = 'meshstep.dev/author-groups'
const KIND = 'meshstep.dev/kind'

type About = ReturnType<typeof meshRelation>['relation']
export type Written = { name?: string; author?: string | undefined; groups?: string }

/** Makes documents in a namespace, whose author is a tenant where none is given. */
export const documentsIn = (namespace: string, tenant = TENANT) => {
  const configMap = (kind: string, data: Record<string, string>, written: Written = {}): KubernetesObject => {
    const { name = 'document', author = 'author' in written ? undefined : tenant, groups } = written
    const annotations = {
      ...(author !== undefined && { [AUTHOR]: author }),
      ...(groups !== undefined && { [GROUPS]: groups }),
    }
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, labels: { [KIND]: kind }, annotations },
      data,
    }
  }
  return {
    config: (text: string, written?: Written, application = 'a') =>
      configMap('config', { application, config: text }, written),
    relation: (remote: string, written?: Written, application = 'a', about: About = meshRelation().relation) =>
      configMap('relation', { application, relation: JSON.stringify(about), remote }, written),
  }
}

/** Tells if an object is no document of a tenant, and neither the memory of `a`, nor what that owns, nor what has its name. */
export const isOutside = ({ kind, metadata: { name, labels = {}, annotations = {} } }: KubernetesObject): boolean => {
  const isDocument = labels[KIND] !== undefined && annotations[AUTHOR] !== ADMIN
  // a policy is about whom it selects, whoever made it, and without effects nobody has one made
  const isOwned = labels[APPLICATION_LABEL] === 'a' && kind !== 'AuthorizationPolicy'
  const isOwn = isOwned || /^a(-\w+)*$/.test(name)
  return !isDocument && !isOwn && kind !== 'Event'
}

const deny = {
  ...{
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: 'deny', namespace: 'istio-system' },
  },
  spec: { action: 'DENY', rules: [{}] },
}

const betweenOthers = (namespace: string) => ({
  ...{ source_namespace: namespace, source_app_name: 'a', target_namespace: namespace, target_app_name: 'b' },
  ...{ target_type: 'app', endpoints: [] },
})

const valuesIn = (namespace: string): Record<string, unknown[]> => ({
  mesh: [{}, { hardened: true }, { modelOnMesh: true }, { rootNamespace: namespace }, null],
  rawPolicies: [[], [deny]],
  meshPolicies: [[], [betweenOthers(namespace)]],
  workload: [null, { kind: 'StatefulSet', name: 'b' }, { podSpec: { containers: [{ name: 'x', image: 'evil:1' }] } }],
  service: [null, 'a', 'b'],
  labels: [{ team: 'blue' }, { 'istio.io/dataplane-mode': 'ambient' }],
  policies: [
    [{ type: 'app', relation: 'db', endpoints: [] }],
    [{ type: 'app', relation: 'db', service: 'b', endpoints: [] }],
  ],
  databag: [{ a: 'b' }],
  enrolment: ['in-place'],
  rootNamespace: [namespace],
  serviceAccounts: [{ [`${namespace}/b`]: 'a' }],
  services: [{ b: { name: 'b', port: 80 } }],
})

const binary = (key: string) => `!!binary ${Buffer.from(key).toString('base64')}`
const plainly = (key: string) => key
const DISGUISES: ((key: string) => string)[] = [
  (key) => JSON.stringify(key),
  binary,
  (key) => `? ${key}\n`,
  (key) => `? ${binary(key)}\n`,
  (key) => `? [${key}]\n`,
  (key) => `&k ${key}`,
  (key) => `"\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}"`,
]

/** Most of these would be refused at the first look where all were chosen alike. */
export const mostly = <T>(usual: readonly T[], others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: pick(usual) }, { weight: 1, arbitrary: pick(others) })

export const pick = <T>(values: readonly T[]) => fc.constantFrom(...values)

type Entry = { key: string; value: unknown; as: (key: string) => string }

/** Parts of a config, each in a disguise perhaps: of others, of effects, and such as every tenant may have. */
const entriesIn = (namespace: string): fc.Arbitrary<Entry[]> => {
  const values = valuesIn(namespace)
  const entry = pick(Object.keys(values)).chain((key) =>
    fc.record({ key: fc.constant(key), value: pick(values[key] ?? []), as: mostly([plainly], DISGUISES) }),
  )
  return fc.array(entry, { minLength: 1, maxLength: 3 })
}

/** Configs each of which changes others than `a`, where nobody asks who may. */
const effectsIn = (namespace: string): Record<string, unknown>[] => [
  { workload: { kind: 'StatefulSet', name: 'b' }, labels: { team: 'blue' } },
  { service: 'b', labels: { team: 'blue' } },
  { rawPolicies: [deny] },
  { meshPolicies: [betweenOthers(namespace)] },
  { mesh: { modelOnMesh: true } },
]

/** A config as an event has it. */
export const anyConfig = (namespace: string): fc.Arbitrary<Record<string, unknown>> => {
  const chosen = entriesIn(namespace).map((all) => Object.fromEntries(all.map(({ key, value }) => [key, value])))
  return fc.oneof(chosen, pick(effectsIn(namespace)))
}

export const anyAbout: fc.Arbitrary<About> = fc.record({
  id: pick([7, 8, 9]),
  endpoint: pick(['service-mesh', 'db']),
  interface: pick(['service_mesh', 'sql', 'cross_model_mesh']),
  role: pick(['requires', 'provides', 'peers']),
}) as fc.Arbitrary<About>

export type Asked = {
  readonly namespace: string
  /** Another namespace, whose applications a relation may name. */
  readonly elsewhere: string
  readonly tenant: string
  /** Names of documents of others, and those who write them, which the API server lets the tenant neither write nor name. */
  readonly forged?: { readonly names: readonly string[]; readonly authors: readonly string[] }
}

/** Documents of a tenant that has much in mind: readable or not, of its application or of others, with or without effects. */
export const anyDocument = ({ namespace, elsewhere, tenant, forged }: Asked): fc.Arbitrary<KubernetesObject> => {
  const { config, relation } = documentsIn(namespace)
  const disguised = entriesIn(namespace).map((all) =>
    all.map(({ key, value, as }) => `${as(key)}: ${JSON.stringify(value)}`).join('\n'),
  )
  const plain = anyConfig(namespace).map((all) => JSON.stringify(all))
  const others = ['b', 'beacon', '!!str b', binary('beacon'), 'a # b', '&x b', 'c']
  const application = mostly(['a', 'a', '"a"'], others)
  const written = fc.record({
    name: mostly(['one', 'two', 'three'], forged?.names ?? ['one']),
    author: mostly([tenant], [undefined, ...(forged?.authors ?? [])]),
    groups: mostly(['', 'system:authenticated'], ['a']),
  })
  const remote = fc
    .record({
      as: mostly([plainly], DISGUISES),
      application: pick(['a', 'b', 'beacon', 'c']),
      where: pick(['', `, "namespace": "${elsewhere}"`, `, "namespace": "${namespace}"`]),
    })
    .map(
      ({ as, application, where }) =>
        `{ "data": {"labels":{"istio.io/dataplane-mode":"ambient"}}${where}, ${as('application').trim()}: ${application} }`,
    )
  return fc.oneof(
    fc
      .record({ text: fc.oneof(disguised, plain), written, application })
      .map((one) => config(one.text, one.written, one.application)),
    fc
      .record({ remote, written, application, about: anyAbout })
      .map((one) => relation(one.remote, one.written, one.application, one.about)),
  )
}
