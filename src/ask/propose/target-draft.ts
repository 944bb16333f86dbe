import { whyNotSelected } from '../../core/policies/missed-pods.ts'
import type { Policy } from '../../core/policies/models.ts'
import { ownWorkload } from '../../core/workload/config.ts'
import { subjectName } from '../../platform/base/subject.ts'
import type { Application } from './cluster.ts'
import { type Endpoint, endpointFor } from './endpoint.ts'
import type { Judged } from './judge.ts'
import { podPorts, servicePorts } from './ports.ts'
import type { Seen } from './seen.ts'
import { beaconsOf, declaresClients, type PolicyType } from './standing.ts'

/** The proposal for an application as a target. */
export type TargetDraft = {
  readonly target: Application
  /** The policies that its config lacks. */
  readonly policies: readonly Policy[]
  /** The clients that get a relation, with its endpoint. */
  readonly relations: readonly { readonly seen: Seen; readonly endpoint: Endpoint }[]
  /** The clients that are granted access, and those for which something stands. */
  readonly granted: readonly Seen[]
  readonly standing: readonly Seen[]
  /** Clients were seen, also if they are kept out. */
  readonly isTouched: boolean
  /** Sentences on what the ports are taken from. */
  readonly remarks: readonly string[]
}

/** Returns the reason why an application is left as it is, or undefined. */
export const reasonToLeave = (target: Application, judged: readonly Judged[]): string | undefined => {
  const unfit = unfitness(target)
  const unnameable = judged.find(({ verdict }) => verdict === 'unnameable')
  const isWidening = !declaresClients(target) || judged.some(({ verdict }) => verdict === 'granted')
  const isTouched = isWidening || unnameable !== undefined || beaconsOf(target).length === 0
  if (unfit !== undefined || !isTouched) return unfit
  if (target.workload?.isOnMesh === false)
    return 'its pods are not all on the mesh, so no proxy counts all that they are sent'
  if (isWidening && target.isRelated !== true && ownWorkload(target.state?.config) !== undefined)
    return 'its config deploys its workload: add the policies there, as no other document may take its place'
  return unnameable && `its client ${unnameable.seen.from} cannot be named: ${unnameable.reason}`
}

/** Returns the reason why no policy of meshstep would hold for an application. */
const unfitness = ({ subject, workload, problem }: Application): string | undefined => {
  if (problem !== undefined) return `its memory cannot be read (${problem})`
  if (workload === undefined) return 'it is neither a StatefulSet nor a Deployment'
  if (workload.hasSidecar) return 'it has a sidecar, or may have one'
  const unselected = whyNotSelected(subject.application, workload.template)
  return unselected && `its pods ${unselected}`
}

/** Drafts the policies and relations for the clients of an application that are granted access. */
export const draftTarget = (target: Application, judged: readonly Judged[], hasWaypoint: boolean): TargetDraft => {
  const { application } = target.subject
  const granted = judged.filter(({ verdict }) => verdict === 'granted')
  const lacking = (type: PolicyType) => granted.filter(({ lacks }) => lacks.includes(type)).map(({ seen }) => seen)
  const [toService, toPods] = [lacking('app'), lacking('unit')]
  const standing = judged.filter(({ verdict }) => verdict === 'stands').map(({ seen }) => seen)
  const isTouched = judged.length > 0
  const known = { target, granted: granted.map(({ seen }) => seen), standing, isTouched, policies: [], remarks: [] }
  const isNew = !declaresClients(target)
  const forService = toService.length > 0 || (isNew && hasWaypoint && target.services.length > 0)
  const forPods = toPods.length > 0 || (isNew && !forService)
  const ofService = endpointFor(target, toService, application, [])
  const ofPods = endpointFor(
    target,
    toPods,
    forService ? `${application}-pods` : application,
    forService ? [ofService.name] : [],
  )
  // a relation is enough
  if (target.isRelated)
    return { ...known, relations: [...unrelated(ofService, toService), ...unrelated(ofPods, toPods)] }
  const app = forService ? appPolicies(target, ofService, toService) : NOTHING
  const unit = forPods ? unitPolicy(target, ofPods, toPods) : NOTHING
  return {
    ...known,
    policies: [...app.policies, ...unit.policies],
    relations: [...unrelated(ofService, toService), ...unrelated(ofPods, toPods)],
    remarks: [...app.remarks, ...unit.remarks],
  }
}

type Part = { readonly policies: readonly Policy[]; readonly remarks: readonly string[] }

const NOTHING: Part = { policies: [], remarks: [] }

const unrelated = (endpoint: Endpoint, clients: readonly Seen[]) =>
  clients.filter(({ from }) => !endpoint.related.includes(from)).map((seen) => ({ seen, endpoint }))

const appPolicies = ({ subject, services }: Application, { name }: Endpoint, clients: readonly Seen[]): Part => {
  const isHttpAlone = clients.length > 0 && clients.every(({ tcp }) => tcp === 0)
  const parts = services.map((service) => {
    const ports = servicePorts(service, isHttpAlone)
    const { name: title } = service.metadata
    return {
      policy: {
        ...{ type: 'app' as const, relation: name, endpoints: [{ ports }] },
        ...(title !== subject.application && { service: title }),
      },
      remark:
        ports.length === 1
          ? `Port ${ports[0]} is the only one of the Service ${title} that may have been used.`
          : `Metrics name no port: ${ports.join(', ')} are those of the Service ${title}. Take out what is not used.`,
    }
  })
  return {
    policies: parts.map(({ policy }) => policy),
    remarks: clients.length > 0 ? parts.map(({ remark }) => remark) : [],
  }
}

const unitPolicy = (
  { subject, workload, services }: Application,
  { name }: Endpoint,
  clients: readonly Seen[],
): Part => {
  // the port of a pod need not be one of a Service
  const ports =
    clients.some(({ isToPods }) => isToPods) || workload === undefined
      ? undefined
      : podPorts(services, workload.template)
  const pods = `the pods of ${subjectName(subject)}`
  const remark =
    ports === undefined
      ? `Metrics name no port: all of ${pods} are allowed.`
      : `Ports ${ports.join(', ')} are those of ${pods} behind its Services.`
  return {
    policies: [{ type: 'unit', relation: name, ...(ports && { ports }) }],
    remarks: clients.length > 0 ? [remark] : [],
  }
}
