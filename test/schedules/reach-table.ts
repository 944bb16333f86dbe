/** Where a request goes to: to a Service, or straight to a pod. */
export type Target = 'Service' | 'pods'

/** `autoAllow` is a setting of Istio, by which the waypoint passes at the pods; what is unguarded otherwise lets in nobody else then. */
export type Request = { client: string; target: Target; method: string; path: string; autoAllow: boolean }

type Endpoint = { ports?: number[]; methods?: string[]; paths?: string[] }
export type Policy = { type: string; service?: string; endpoints?: readonly Endpoint[] }

/** What decides who reaches an application on the mesh. */
export type Rules = {
  policies: readonly Policy[]
  /** Who is related to the endpoint that all the policies name. */
  clients: readonly string[]
  /** What no policy allows is denied. */
  isHardened: boolean
  hasWaypoint: boolean
}

const isFitting = ({ methods, paths }: Endpoint, { method, path }: Request): boolean =>
  (methods?.includes(method) ?? true) && (paths?.includes(path) ?? true)

const isAsked = ({ endpoints = [] }: Policy, request: Request): boolean =>
  endpoints.length === 0 || endpoints.some((endpoint) => isFitting(endpoint, request))

/** Who passes, as the tables in docs/policies.md have it. */
export const mayPass = (request: Request, { policies, clients, isHardened, hasWaypoint }: Rules): boolean => {
  const { client, target, autoAllow } = request
  const isClient = clients.includes(client)
  const apps = policies.filter(({ type, service }) => type === 'app' && service === undefined)
  const isPodsDeclared = policies.some(({ type }) => type === 'unit')
  const isServiceDeclared = apps.length > 0
  const passesPods = isPodsDeclared && isClient
  if (!hasWaypoint || target === 'pods') {
    const isGuarded = isHardened || policies.length > 0 || (autoAllow && hasWaypoint)
    return passesPods || !isGuarded
  }
  if (isServiceDeclared) return isClient && apps.some((policy) => isAsked(policy, request))
  return !isHardened
}
