import { type Subject, subjectName } from '../base/subject.ts'

/** A side of a request. Things of several kinds may have one name. */
export type Side = Subject & {
  /** An application is a workload or a Service, and a pod one that no workload has. @default an application, else a Gateway */
  readonly kind?: 'application' | 'gateway' | 'pod' | undefined
}

/** Names a side: `shop/db`, `shop/gateway/db` or `shop/pod/db`. */
export const sideName = ({ kind, ...subject }: Side): string => {
  const { namespace, application } = subject
  return kind === undefined || kind === 'application' ? subjectName(subject) : `${namespace}/${kind}/${application}`
}

/** Reads the name of an application, or of a Gateway as `{namespace}/gateway/{name}`. */
export const parseSide = (text: string): Side => {
  const [namespace = '', application = '', name] = text.split('/')
  return name === undefined ? { namespace, application } : { namespace, kind: 'gateway', application: name }
}

/** Names a side within its namespace. */
export const nearName = (side: Side): string => sideName(side).slice(side.namespace.length + 1)
