/** A port of a Service, which is the same on the pod. */
export type ServicePort = { readonly name: string; readonly port: number; readonly protocol: string }

type Port = {
  readonly containerPort: number
  readonly name?: string | undefined
  readonly protocol?: string | undefined
}

type Pod = { readonly containers: readonly { readonly ports?: readonly Port[] | undefined }[] }

/**
 * The ports of a Service for these containers, in their order, each number and protocol once. Every port has a name, as a Service of
 * several wants it: the container's own, or one that Istio does not take for the name of a protocol, as it would take `tcp-80`.
 */
export const servicePorts = ({ containers }: Pod): ServicePort[] => {
  const ports = containers
    .flatMap(({ ports = [] }) => ports)
    .map(({ containerPort: port, name, protocol = 'TCP' }) => ({
      name: name ?? nameOf(port, protocol),
      port,
      protocol,
    }))
  return [...Map.groupBy(ports, ({ port, protocol }) => `${port}/${protocol}`).values()].flatMap((same) =>
    same.slice(0, 1),
  )
}

const nameOf = (port: number, protocol: string): string =>
  protocol === 'TCP' ? `port-${port}` : `port-${port}-${protocol.toLowerCase()}`
