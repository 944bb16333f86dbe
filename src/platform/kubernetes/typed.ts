import type { V1Deployment, V1Pod, V1Service, V1StatefulSet, V1SubjectAccessReview } from '@kubernetes/client-node'

/** A type of the official client as JSON has it. Any field may be missing, and a date is text. */
type OnWire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly OnWire<E>[]
    : T extends object
      ? string extends keyof T
        ? Readonly<T>
        : { readonly [Field in keyof T]?: OnWire<T[Field]> }
      : T

type Kinds = {
  Deployment: V1Deployment
  Pod: V1Pod
  Service: V1Service
  StatefulSet: V1StatefulSet
  SubjectAccessReview: V1SubjectAccessReview
  /** A StatefulSet, else a Deployment: each lacks some fields of the other. */
  Workload: V1Deployment & V1StatefulSet
}

/** An object of a known kind, with the fields of the official client. Any KubernetesObject may be seen as one, and nothing is checked. */
export type Typed<K extends keyof Kinds> = OnWire<Kinds[K]>
