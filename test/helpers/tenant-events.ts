import fc from 'fast-check'
import { OwnedKind } from '../../src/core/state/owned-kinds.ts'
import type { Event } from '../../src/platform/cloudevents/cloud-event.ts'
import { type Asked, anyAbout, anyConfig, anyDocument, mostly, pick } from './tenant-documents.ts'

/** An event to be sent, and how many milliseconds ago it is said to have been. */
export type SentEvent = { readonly event: Event; readonly ago: number }

const SECOND = 1_000
const MINUTE = 60 * SECOND

const optional: { requiredKeys: never[] } = { requiredKeys: [] }

/** The data of an event of each name, beyond whom it is about. */
const dataIn = ({ namespace, elsewhere, forged }: Asked): Record<string, fc.Arbitrary<Record<string, unknown>>> => {
  const document = pick(['one', 'two', ...(forged?.names ?? [])])
  const unit = pick(['a/0', 'a/1', 'b/0'])
  const texts = fc.constant({ a: 'b' })
  const databag = fc.constant({ 'service-mesh': { a: 'b' } })
  const application = pick(['a', 'b', 'beacon', 'c'])
  const labels = JSON.stringify({ 'istio.io/dataplane-mode': 'ambient' })
  const data = pick([{}, { labels }, { policies: '[]' }, { labels: 'no' }])
  const remote = fc.record(
    { application, namespace: pick([namespace, elsewhere]), data },
    { requiredKeys: ['application', 'data'] },
  )
  const former = fc.record(
    {
      kind: pick(['Workload', 'StatefulSet', 'Service', 'Pod']),
      name: pick(['a', 'b', 'b-0', 'beacon']),
      on: fc.constant('pods'),
    },
    { requiredKeys: ['kind', 'name'] },
  )
  return {
    'config-changed': fc.oneof(
      fc.record({ config: anyConfig(namespace) }),
      fc.record(
        { config: anyConfig(namespace), settings: texts, databag, unit, epoch: pick([0, 1, 9]), document },
        optional,
      ),
    ),
    'relation-changed': fc.record({ relation: anyAbout, remote, document }, { requiredKeys: ['relation', 'remote'] }),
    'relation-broken': fc.record(
      {
        relation: fc.oneof(anyAbout, fc.record({ id: pick([7, 8, 9]) })),
        remote: fc.record({ application, namespace: pick([namespace, elsewhere]) }, { requiredKeys: ['application'] }),
        document,
      },
      optional,
    ),
    'leader-elected': fc.record(
      { unit, epoch: pick([0, 1, 9]), lease: pick([{ uid: '1' }]) },
      { requiredKeys: ['unit'] },
    ),
    'pod-restarted': fc.record(
      {
        pod: fc.record({ name: pick(['a-0', 'a-1', 'b-0', 'beacon-0']), uid: pick(['1', '2']) }),
        ...{ unit, gone: fc.constant(true), databag },
        status: pick([{ status: 'active', message: '' }]),
      },
      { requiredKeys: ['pod'] },
    ),
    'application-removed': fc.record({ document }, optional),
    resync: fc.record(
      {
        former: fc.array(former, { minLength: 1, maxLength: 3 }),
        owned: fc.subarray([...OwnedKind.options]),
        documents: fc.array(document),
        named: fc.array(application),
      },
      optional,
    ),
  }
}

/** Events of a tenant that has as much in mind: of the functions' own types, and of Knative's sources. */
export const anyEvent = (asked: Asked): fc.Arbitrary<SentEvent> => {
  const { namespace, elsewhere } = asked
  const data = dataIn(asked)
  const about = fc.record({
    namespace: mostly([namespace], [namespace, elsewhere]),
    application: mostly(['a'], ['b', 'beacon', 'c', undefined]),
  })
  const own = mostly(['config-changed', 'relation-changed', 'resync'], Object.keys(data)).chain((name) =>
    fc
      .record({ about, data: data[name] ?? fc.constant({}) })
      .map((one) => ({ type: `dev.meshstep.${name}.v1`, data: { ...one.about, ...one.data } })),
  )
  const verb = pick(['add', 'update', 'delete'])
  const labelled = (kind: string, more: Record<string, unknown>) =>
    fc.record({ name: pick(['a-0', 'b-0', 'b']), application: pick(['a', 'b']) }).map((one) => ({
      ...{ apiVersion: kind === 'Pod' ? 'v1' : 'coordination.k8s.io/v1', kind, ...more },
      metadata: { name: one.name, namespace, uid: '1', labels: { 'app.kubernetes.io/name': one.application } },
    }))
  const object = fc.oneof(
    anyDocument(asked),
    labelled('Pod', { spec: { containers: [] } }),
    labelled('Lease', { spec: { holderIdentity: 'b-0', leaseTransitions: 3 } }),
  )
  const ofSource = fc
    .record({ verb, object })
    .map((one) => ({ type: `dev.knative.apiserver.resource.${one.verb}`, data: one.object }))
  const ping = about.map((one) => ({ type: 'dev.knative.sources.ping', data: one }))
  return fc
    .record({
      what: fc.oneof({ weight: 6, arbitrary: own }, { weight: 3, arbitrary: ofSource }, { weight: 1, arbitrary: ping }),
      id: fc.uuid(),
      source: mostly(['/test'], [`/meshstep/${namespace}/b`, `/apis/v1/namespaces/${namespace}/pingsources/x`]),
      subject: mostly([undefined], [`${namespace}/a`, `${namespace}/b`]),
      // one of a later time would outlast many of the others
      ago: mostly([0], [10 * MINUTE, -SECOND]),
    })
    .map(({ what, id, source, subject, ago }) => ({
      event: { id, source, datacontenttype: 'application/json', extensions: {}, ...(subject && { subject }), ...what },
      ago,
    }))
}
