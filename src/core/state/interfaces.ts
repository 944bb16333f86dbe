import { ownValue } from '../../platform/base/own-value.ts'

/** The protocol of an interface. */
type Protocol = {
  /** The keys of its databags, besides those of every protocol. */
  readonly keys: readonly string[]
  /** Its provider offers labels in this key. The part `by` of the config makes an application the provider. */
  readonly labels?: {
    readonly key: 'labels' | 'worker_labels'
    readonly by: 'mesh' | 'coordinator'
    /** The key of a JSON object with all else that it offers, and the only format of that which this program reads. */
    readonly offer?: { readonly key: string; readonly format: number }
  }
  /** It is of the mesh itself: no requests between applications follow from its relations. */
  readonly isOfMesh?: true
  /** The endpoints of both sides, where the names differ. */
  readonly endpoints?: readonly [string, string]
}

const protocols = <Name extends string>(known: Readonly<Record<Name, Protocol>>) => known

/** The interfaces for which meshstep has a protocol: both sides publish data. */
export const INTERFACES = protocols({
  service_mesh: {
    keys: [
      ...['labels', 'labels_elsewhere', 'mesh_type', 'guard', 'default_policies', 'service_account', 'policies'],
      ...['enforcement', 'offer'],
    ],
    labels: { key: 'labels', by: 'mesh', offer: { key: 'offer', format: 1 } },
    isOfMesh: true,
  },
  cross_model_mesh: {
    keys: ['cmr_data'],
    isOfMesh: true,
    endpoints: ['provide-cmr-mesh', 'require-cmr-mesh'],
  },
  cluster: {
    keys: [
      ...['role', 'juju_topology', 'address', 'worker_config', 'worker_ports', 'worker_labels'],
      ...['loki_endpoints', 'charm_tracing_receivers', 'workload_tracing_receivers', 'remote_write_endpoints'],
      ...['ca_cert', 'server_cert', 's3_tls_ca_chain', 'privkey_secret_id'],
    ],
    labels: { key: 'worker_labels', by: 'coordinator' },
  },
  'k8s-service': { keys: ['service-name', 'service-port', 'name', 'port'] },
})

export type InterfaceName = keyof typeof INTERFACES

/** Returns the protocol of an interface. Undefined for one that meshstep only knows by name. */
export const protocolOf = (name: string): Protocol | undefined => ownValue<Protocol>(INTERFACES, name)

/** Tells if an interface is of the mesh itself. */
export const isOfMesh = ({ interface: name }: { readonly interface: string }): boolean =>
  protocolOf(name)?.isOfMesh === true

/** Returns the name of the endpoint at the other side, where it is not that of this one. */
export const endpointOpposite = (name: string, endpoint: string): string | undefined => {
  const { endpoints } = protocolOf(name) ?? {}
  return endpoints?.includes(endpoint) ? endpoints.find((one) => one !== endpoint) : undefined
}
