import type { Json } from './json.ts'

/**
 * How server-side apply and strategic merge patch look at a value. What has no shape is merged key by key when it is a
 * map, and replaced as a whole when it is a list: the rule for custom resources without list markers.
 * See https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
 */
export type Shape = {
  /** The list's items are told apart by these keys (the value is the key's default); the first is the patch merge key. */
  readonly keys?: Readonly<Record<string, Json>>
  /** The list is a set of scalars. */
  readonly set?: true
  /** The map is owned and replaced as a whole. */
  readonly atomic?: true
  readonly fields?: Readonly<Record<string, Shape>>
  readonly items?: Shape
}

/** The shape of a map's member. Keys come from outside: one named constructor is not special. */
export const fieldOf = (shape: Shape | undefined, key: string): Shape | undefined =>
  shape?.fields !== undefined && Object.hasOwn(shape.fields, key) ? shape.fields[key] : undefined

const fields = (shapes: Record<string, Shape>): Shape => ({ fields: shapes })
const listBy = (keys: Record<string, Json>, shapes: Record<string, Shape> = {}): Shape => ({
  keys,
  items: fields(shapes),
})
const byName = (shapes: Record<string, Shape> = {}): Shape => listBy({ name: '' }, shapes)
const atomic: Shape = { atomic: true }

const conditions = listBy({ type: '' })

const container = byName({
  ports: listBy({ containerPort: 0, protocol: 'TCP' }),
  env: byName({
    valueFrom: fields({ configMapKeyRef: atomic, fieldRef: atomic, resourceFieldRef: atomic, secretKeyRef: atomic }),
  }),
  volumeMounts: listBy({ mountPath: '' }),
  volumeDevices: listBy({ devicePath: '' }),
  resources: fields({ claims: byName() }),
})

const affinityTerms = fields({ requiredDuringSchedulingIgnoredDuringExecution: atomic })

const podSpec = fields({
  containers: container,
  initContainers: container,
  ephemeralContainers: container,
  volumes: byName({ csi: fields({ nodePublishSecretRef: atomic }) }),
  imagePullSecrets: { keys: { name: '' }, items: atomic },
  hostAliases: listBy({ ip: '' }),
  topologySpreadConstraints: listBy({ topologyKey: '', whenUnsatisfiable: '' }, { labelSelector: atomic }),
  schedulingGates: byName(),
  resourceClaims: byName(),
  nodeSelector: atomic,
  affinity: fields({ nodeAffinity: affinityTerms }),
})

const metadata = fields({ finalizers: { set: true }, ownerReferences: { keys: { uid: '' }, items: atomic } })

const ofObject = (shapes: Record<string, Shape>): Shape => fields({ metadata, ...shapes })

const workload = ofObject({
  spec: fields({ selector: atomic, template: fields({ metadata, spec: podSpec }) }),
  status: fields({ conditions }),
})

/** The shapes of the kinds that need one. */
export const shapes = {
  plain: ofObject({}),
  workload,
  pod: ofObject({
    spec: podSpec,
    status: fields({ conditions, podIPs: listBy({ ip: '' }) }),
  }),
  service: ofObject({
    spec: fields({ ports: listBy({ port: 0, protocol: 'TCP' }), selector: atomic }),
    status: fields({ conditions }),
  }),
  serviceAccount: ofObject({ secrets: listBy({ name: '' }) }),
  conditioned: ofObject({ status: fields({ conditions }) }),
  gateway: ofObject({
    spec: fields({ listeners: byName() }),
    status: fields({ conditions, listeners: byName({ conditions }) }),
  }),
} satisfies Record<string, Shape>
