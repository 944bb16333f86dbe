import { ownValue } from '../../platform/base/own-value.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** A version of Istio: major, minor, patch. */
export type IstioVersion = readonly [major: number, minor: number, patch: number]

/** The lowest supported version. Older ones have no policies for a GatewayClass, which hardened mode needs at waypoints. */
export const LOWEST: IstioVersion = [1, 25, 0]

/** Reads Istio's version from the label of its chart. Returns undefined without the label. A pre-release counts as its release. */
export const readIstioVersion = ({ metadata }: Pick<KubernetesObject, 'metadata'>): IstioVersion | undefined => {
  const [, major, minor, patch = '0'] =
    /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(ownValue(metadata.labels, 'app.kubernetes.io/version') ?? '') ?? []
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}

/** Tells if Istio is known to be older than a version. */
export const isOlder = (version: IstioVersion | undefined, than: IstioVersion): boolean => {
  if (version === undefined) return false
  const index = version.findIndex((part, at) => part !== than[at])
  // equal versions have no such part
  return (version[index] ?? 0) < (than[index] ?? 0)
}

export const versionName = (version: IstioVersion): string => version.join('.')
