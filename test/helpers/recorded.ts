import { readFileSync } from 'node:fs'
import type { MeshPolicy, Policy } from '../../src/core/policies/models.ts'

const read = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), 'utf8')) as T

type Named = { readonly namespace: string; readonly application: string }

/** What the charm libraries make of the same input. */
export type CharmLibrary = {
  readonly policies: readonly {
    readonly name: string
    readonly owner: Named
    readonly policy: MeshPolicy
    /** Of the AuthorizationPolicy; null where there is none. */
    readonly spec: { readonly rules: readonly { readonly to?: unknown }[] } | null
  }[]
  readonly databags: Named & {
    /** With the real name of an application elsewhere. */
    readonly relations: readonly { readonly endpoint: string; readonly application: string; readonly real?: Named }[]
    readonly cases: readonly { readonly name: string; readonly policies: readonly Policy[]; readonly databag: string }[]
  }
  readonly labels: readonly {
    readonly given: { readonly model: string; readonly application: string }
    readonly label: string
  }[]
  readonly labelValues: readonly { readonly given: string; readonly value: string }[]
  readonly telemetry: {
    readonly topology: readonly { unit: string; address: string; application: string; charm_name: string }[]
    readonly charmTracing: Record<string, string>
    readonly workloadTracing: Record<string, string>
    readonly loki: Record<string, string>
    readonly remoteWrite: readonly { url: string }[]
    readonly proxyPort: number
    readonly workerMetricsPort: number
    readonly proxied: {
      readonly loki: Record<string, string>
      readonly remoteWrite: readonly { url: string }[]
      readonly charmTracing: Record<string, string>
      readonly workloadTracing: Record<string, string>
    }
    readonly paths: readonly string[]
  }
}

export const charmLibrary = (): CharmLibrary => read('charm-library')

/** A request as Knative's ApiServerSource sent it, without the fields of a Pod that nobody reads. */
export type RecordedRequest = { readonly headers: Record<string, string>; readonly body: string }

type Requests = {
  readonly requests: Record<string, RecordedRequest>
  readonly shared: Record<string, string>
  readonly rollingUpdate: readonly { readonly headers: Record<string, string>; readonly data: RecordedObject }[]
}

export type RecordedObject = { readonly kind: string; readonly metadata: { readonly name: string } }

/** Single requests by name, and all that were sent while two workloads rolled over and a document came and went. */
export const knativeRequests = () => {
  const { requests, shared, rollingUpdate } = read<Requests>('knative-requests')
  return {
    requests,
    rollingUpdate: rollingUpdate.map(({ headers, data }) => ({ headers: { ...shared, ...headers }, data })),
  }
}

/** The OpenAPI schemas of CustomResourceDefinitions, without their descriptions and CEL, by `group/version kind`. */
export const schemas = () => read<Record<string, { properties: Record<string, unknown> }>>('schemas')
