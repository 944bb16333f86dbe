import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { Answer, Request } from '../api/api.ts'
import { example } from './example.ts'
import { demoJuju } from './juju.ts'
import { demoPrometheus, PROMETHEUS_PATH } from './prometheus.ts'

/** The beginning of a server without a cluster. */
export type Example = {
  readonly objects: readonly KubernetesObject[]
  /** Answers in place of the API; undefined lets a request through. */
  readonly answer?: (request: Request) => Answer | undefined
  /** The path of a Prometheus that knows the traffic of the example. */
  readonly prometheus?: string
}

/** The examples by their names. The first one is served if none is named. */
export const examples = {
  /** Applications that are not on a mesh. */
  bookinfo: { objects: example },
  /** The same, with the traffic that a Prometheus has seen. */
  traffic: { objects: example, answer: demoPrometheus, prometheus: PROMETHEUS_PATH },
  /** The same, as a model of Juju. */
  juju: { objects: example, answer: demoJuju },
} as const satisfies Readonly<Record<string, Example>>

export type ExampleName = keyof typeof examples
