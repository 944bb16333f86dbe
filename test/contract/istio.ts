import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import type { Finding } from '../../src/ask/lint/finding.ts'
import { features } from '../../src/features.ts'
import { systemClock as clock } from '../../src/platform/base/clock.ts'
import { createKubernetes, type Kubernetes } from '../../src/platform/kubernetes/client.ts'
import { kubeconfigEndpoint } from '../../src/platform/kubernetes/kubeconfig.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createTransport } from '../../src/platform/kubernetes/transport.ts'
import { createExplain, type Explanation } from '../../src/serve/http/explain.ts'
import { createLint } from '../../src/serve/http/lint.ts'
import { type Cluster, noCluster } from './cluster.ts'

const { KUBECONFIG, MESHSTEP_ISTIOD_DEBUG, MESHSTEP_ISTIOD_STOP, MESHSTEP_ISTIOD_START } = process.env

type Condition = { type: string; status: string; reason: string; message: string; observedGeneration?: string | number }

/** Reads the conditions of an object's status. */
export const conditionsOf = ({ status }: KubernetesObject): Condition[] =>
  ((status ?? {}) as { conditions?: Condition[] }).conditions ?? []

const isMissing = async (): Promise<boolean> => {
  const transport = createTransport(kubeconfigEndpoint(KUBECONFIG ?? ''))
  const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + 10_000 })
  const found = await kubernetes.find({ kind: 'GatewayClass', name: 'istio-waypoint' }).catch(() => undefined)
  transport.close()
  return !(found && conditionsOf(found).some(({ type, status }) => type === 'Accepted' && status === 'True'))
}

/** Why what needs a real istiod is not tested, to be shown as the name of the skipped tests. */
export const noIstio =
  noCluster ?? ((await isMissing()) ? 'needs a cluster that accepts the GatewayClass istio-waypoint' : undefined)

export const noDebug =
  noIstio ??
  (MESHSTEP_ISTIOD_DEBUG ? undefined : 'needs MESHSTEP_ISTIOD_DEBUG, the address of istiod’s debug endpoints')

/** Why what the embedded API plays as well is not tested on this cluster. */
export const noIstiodThere = noCluster ? undefined : noDebug

export const noSwitch =
  noIstio ??
  (MESHSTEP_ISTIOD_STOP && MESHSTEP_ISTIOD_START
    ? undefined
    : 'needs MESHSTEP_ISTIOD_STOP and MESHSTEP_ISTIOD_START, the commands that do so')

const run = promisify(exec)

export const stopIstiod = async (): Promise<void> => void (await run(MESHSTEP_ISTIOD_STOP ?? '', { timeout: 60_000 }))
export const startIstiod = async (): Promise<void> =>
  void (await run(MESHSTEP_ISTIOD_START ?? '', { timeout: 120_000 }))

type Match = Partial<Record<'principals' | 'namespaces', { exact?: string }[]>> & { destinationPorts?: number[] }

/** A policy as istiod sends it to ztunnels. */
export type Authorization = {
  readonly name: string
  readonly namespace: string
  readonly scope?: 'GLOBAL' | 'NAMESPACE' | 'WORKLOAD_SELECTOR'
  readonly action?: 'ALLOW' | 'DENY'
  readonly groups?: readonly { readonly rules?: readonly { readonly matches?: readonly Match[] }[] }[]
}

type SeenWorkload = { workloadName: string; namespace: string; authorizationPolicies?: string[] }

/** What istiod tells ztunnels. */
export type ZtunnelView = {
  readonly policies: readonly Authorization[] | null
  readonly workloads: readonly SeenWorkload[] | null
}

export const ztunnelView = async (): Promise<ZtunnelView> =>
  (await (await fetch(`${MESHSTEP_ISTIOD_DEBUG}/debug/ambientz`)).json()) as ZtunnelView

/** Decides as a ztunnel does: a DENY that matches refuses, and where there is an ALLOW, one has to match. Fields of others than ours are unknown. */
export const ztunnelAllows = (
  { policies, workloads }: ZtunnelView,
  to: { namespace: string; application: string },
  client: { namespace: string; serviceAccount: string; port: number },
): boolean => {
  const workload = workloads?.find(
    ({ namespace, workloadName }) => namespace === to.namespace && workloadName === to.application,
  )
  if (workload === undefined) throw new Error(`istiod knows no pod of ${to.namespace}/${to.application}`)
  const named = workload.authorizationPolicies ?? []
  const holding = (policies ?? []).filter(
    ({ namespace, name, scope = 'GLOBAL' }) =>
      scope === 'GLOBAL' ||
      (scope === 'NAMESPACE' ? namespace === to.namespace : named.includes(`${namespace}/${name}`)),
  )
  const isMatched = ({ groups = [] }: Authorization) =>
    groups.some(({ rules = [] }) =>
      rules.every(({ matches = [] }) => matches.some((match) => matchesClient(match, client))),
    )
  const [denies, allows] = [holding.filter(isDeny), holding.filter((policy) => !isDeny(policy))]
  return !denies.some(isMatched) && (allows.length === 0 || allows.some(isMatched))
}

const isDeny = ({ action }: Authorization): boolean => action === 'DENY'

const KNOWN = ['principals', 'namespaces', 'destinationPorts']

const matchesClient = (
  match: Match,
  { namespace, serviceAccount, port }: { namespace: string; serviceAccount: string; port: number },
): boolean => {
  // a ztunnel takes a match of nothing for none (istio/ztunnel, src/rbac.rs)
  if (Object.keys(match).length === 0) return false
  const odd = Object.keys(match).filter((key) => !KNOWN.includes(key))
  if (odd.length > 0) throw new Error(`this test does not know ${odd.join(', ')}`)
  const is = (texts: { exact?: string }[] | undefined, value: string) =>
    texts === undefined || texts.some(({ exact }) => exact === value)
  return (
    is(match.principals, `cluster.local/ns/${namespace}/sa/${serviceAccount}`) &&
    is(match.namespaces, namespace) &&
    (match.destinationPorts === undefined || match.destinationPorts.includes(port))
  )
}

const environment = { resolver: '10.96.0.10' }
const asked = (kubernetes: Kubernetes) => ({ features, connect: () => kubernetes, clock, timeoutMilliseconds: 20_000 })

export const explain = async ({ kubernetes }: Cluster, query: Record<string, string>): Promise<Explanation> =>
  await createExplain(asked(kubernetes))(new URLSearchParams({ autoAllowWaypoint: 'false', ...query }), undefined)

export const lint = async ({ kubernetes, namespace }: Cluster): Promise<Finding[]> =>
  await createLint({ ...asked(kubernetes), environment })(new URLSearchParams({ namespace }), undefined)

const PORT = 9113

/** A Deployment that runs as itself, and its Service. */
export const deployed = (namespace: string, name: string): KubernetesObject[] => {
  const own = { 'app.kubernetes.io/name': name }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        selector: { matchLabels: own },
        template: {
          metadata: { labels: own },
          spec: {
            serviceAccountName: name,
            terminationGracePeriodSeconds: 0,
            containers: [{ name: 'x', image: 'example.invalid/x:1', ports: [{ containerPort: PORT }] }],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: {
        selector: own,
        ports: [
          { name: 'http', port: PORT },
          { name: 'http-web', port: 80 },
        ],
      },
    },
  ]
}
