import * as z from 'zod'
import { ownValue } from '../../platform/base/own-value.ts'
import { LabelSelector, selects } from '../../platform/kubernetes/label-selector.ts'

type Labels = Readonly<Record<string, string>>

const Texts = z.record(z.string(), z.string())

const Listener = z.object({
  protocol: z.string(),
  port: z.number().optional(),
  tls: z.object({ options: Texts.optional(), frontendValidation: z.unknown().optional() }).optional().catch(undefined),
  allowedRoutes: z
    .object({ namespaces: z.object({ from: z.string().optional(), selector: LabelSelector.optional() }).optional() })
    .optional(),
})

/** The relevant fields of a Gateway. An invalid spec or status counts as empty. */
export const Gateway = z.object({
  metadata: z.object({ labels: Texts.default({}), annotations: Texts.default({}) }),
  spec: z
    .object({ gatewayClassName: z.string().optional(), listeners: z.array(Listener), tls: z.unknown().optional() })
    .catch({ listeners: [], tls: undefined }),
  status: z.object({ addresses: z.array(z.unknown()).default([]) }).catch({ addresses: [] }),
})
export type Gateway = z.infer<typeof Gateway>

/** Tells if a waypoint admits Services of a namespace with these labels. By default it admits those of its own namespace. */
export const admits = ({ spec }: Gateway, isOwn: boolean, namespaceLabels: Labels): boolean => {
  const listener = spec.listeners.find(({ protocol, port }) => protocol === 'HBONE' && port === HBONE_PORT)
  const { from = 'Same', selector } = listener?.allowedRoutes?.namespaces ?? {}
  if (from === 'Selector') return selector !== undefined && selects(selector, namespaceLabels)
  return from === 'All' || isOwn
}

const HBONE_PORT = 15_008

/** Tells if a listener may ask clients for their own certificates. Istio and the Gateway API have several fields for this. */
export const takesCertificates = ({ spec }: Gateway, port: number): boolean => {
  const tls = spec.listeners.find((one) => one.port === port)?.tls
  return (
    spec.tls !== undefined ||
    tls?.frontendValidation !== undefined ||
    ownValue(tls?.options, 'gateway.istio.io/tls-terminate-mode')?.includes('MUTUAL') === true
  )
}

/** Tells if a waypoint has an address. istiod ignores a waypoint without one. */
export const hasAddress = ({ status: { addresses } }: Gateway): boolean => addresses.length > 0
