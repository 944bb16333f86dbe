import { describe, expect, test } from 'vitest'
import { builds, cannotBuild } from './builds.ts'
import {
  ApiServerSource,
  all,
  CronJob,
  KnativeService,
  PingSource,
  type Ref,
  ServiceAccount,
  SinkBinding,
  Trigger,
} from './kinds.ts'

const text = ({ apiVersion, kind, name }: Ref): string => `${apiVersion} ${kind} ${name}`

const clusterScoped = [
  'ClusterRole',
  'ClusterRoleBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
]

describe.skipIf(cannotBuild)('references', () => {
  describe.each(builds)('$name', ({ objects }) => {
    const present = objects.map(({ apiVersion, kind, metadata }) => text({ apiVersion, kind, name: metadata.name }))

    test('every object is there once', () => {
      expect(present).toHaveLength(new Set(present).size)
    })

    test('every sink, subscriber, dead-letter sink and broker exists', () => {
      const triggers = all(objects, Trigger)
      const sources = [...all(objects, ApiServerSource), ...all(objects, PingSource), ...all(objects, SinkBinding)]
      const wanted = [
        ...triggers.flatMap(({ spec }) => [spec.subscriber.ref, spec.delivery.deadLetterSink.ref]),
        ...triggers.map(({ spec }) => ({ apiVersion: 'eventing.knative.dev/v1', kind: 'Broker', name: spec.broker })),
        ...sources.map(({ spec }) => spec.sink.ref),
      ]
      expect(present).toEqual(expect.arrayContaining(wanted.map(text)))
    })

    test('every account in use exists, and every account is in use', () => {
      const inUse = [
        ...all(objects, KnativeService).map(({ spec }) => spec.template.spec.serviceAccountName),
        ...all(objects, ApiServerSource).map(({ spec }) => spec.serviceAccountName),
        ...all(objects, CronJob).map(({ spec }) => spec.jobTemplate.spec.template.spec.serviceAccountName),
      ]
      const accounts = all(objects, ServiceAccount).map(({ metadata }) => metadata.name)
      expect(new Set(inUse)).toEqual(new Set(accounts))
    })

    test('sources send to the broker, which retries, and to nothing else', () => {
      const sources = [...all(objects, ApiServerSource), ...all(objects, PingSource), ...all(objects, SinkBinding)]
      expect(new Set(sources.map(({ spec }) => spec.sink.ref.kind))).toEqual(new Set(['Broker']))
    })

    test('everything is in one namespace and labelled as part of meshstep', () => {
      const namespaced = objects.filter(({ kind }) => !clusterScoped.includes(kind))
      expect(new Set(namespaced.map(({ metadata }) => metadata.namespace)).size).toBe(1)
      for (const { metadata } of objects) expect(metadata.labels['app.kubernetes.io/part-of']).toBe('meshstep')
    })
  })
})
