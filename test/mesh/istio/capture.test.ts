import { expect, test } from 'vitest'
import { captureOf, dependsOnMarks, ifCaptured, isMarked } from '../../../src/mesh/istio/capture.ts'
import type { PodLike } from '../../../src/platform/kubernetes/pod-like.ts'

const MODE = 'istio.io/dataplane-mode'
const MARK = 'ambient.istio.io/redirection'
const AMBIENT = { [MODE]: 'ambient' }
const NONE = { [MODE]: 'none' }

type Changes = {
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
  readonly phase?: string
  readonly deletionTimestamp?: string
  readonly hostNetwork?: boolean
}

const pod = ({
  labels = {},
  annotations = {},
  phase = 'Running',
  deletionTimestamp,
  hostNetwork,
}: Changes): PodLike => ({
  metadata: { labels, annotations, ...(deletionTimestamp !== undefined && { deletionTimestamp }) },
  spec: { ...(hostNetwork !== undefined && { hostNetwork }) },
  status: { phase },
})

const MARKED = { annotations: { [MARK]: 'enabled' } }

/** Of pods in a namespace without labels: the capture where nobody marks pods, and where others are marked. */
const CASES: [string, Changes, string, string][] = [
  ['no label', {}, 'off', 'off'],
  ['its own label', { labels: AMBIENT }, 'on', 'unknown'],
  ['its own label and the mark', { labels: AMBIENT, ...MARKED }, 'on', 'on'],
  ['its own label, before it runs', { labels: AMBIENT, phase: 'Pending' }, 'on', 'on'],
  [
    'its own label, while it is being deleted',
    { labels: AMBIENT, deletionTimestamp: '2026-11-27T00:00:00Z' },
    'on',
    'on',
  ],
  ['its own label, after it has succeeded', { labels: AMBIENT, phase: 'Succeeded', ...MARKED }, 'off', 'off'],
  ['its own label, after it has failed', { labels: AMBIENT, phase: 'Failed' }, 'off', 'off'],
  ['the mark of a capture in part', { labels: AMBIENT, annotations: { [MARK]: 'pending' } }, 'unknown', 'unknown'],
  ['another mark', { labels: AMBIENT, annotations: { [MARK]: 'disabled' } }, 'unknown', 'unknown'],
  ['the mark and no label', MARKED, 'unknown', 'unknown'],
  ['the mark and no label, before it runs', { ...MARKED, phase: 'Pending' }, 'off', 'off'],
  ['its own label, in the network of its node', { labels: AMBIENT, hostNetwork: true, ...MARKED }, 'off', 'off'],
  ['a sidecar', { labels: AMBIENT, annotations: { 'sidecar.istio.io/status': '{}' } }, 'off', 'off'],
]

test.each(CASES)('a pod with %s is captured as Istio would say', (_, changes, alone, amongMarked) => {
  expect(captureOf(pod(changes)).is).toBe(alone)
  expect(captureOf(pod(changes), { isMarking: true }).is).toBe(amongMarked)
})

test('a namespace on the mesh takes its pods along, but for those that opt out', () => {
  const home = { labels: AMBIENT }
  expect(captureOf(pod({}), home).is).toBe('on')
  expect(captureOf(pod({ labels: { [MODE]: 'other' } }), home).is).toBe('on')
  expect(captureOf(pod({ labels: NONE }), home)).toMatchObject({ is: 'off', because: 'label' })
  expect(captureOf(pod({ labels: AMBIENT }), { labels: NONE }).is).toBe('on')
})

test('a missing mark says something only where a pod runs and others are marked', () => {
  const home = { labels: AMBIENT }
  expect(dependsOnMarks(pod({}), home)).toBe(true)
  expect(dependsOnMarks(pod({ phase: 'Pending' }), home)).toBe(false)
  expect(dependsOnMarks(pod(MARKED), home)).toBe(false)
  expect(dependsOnMarks(pod({ annotations: { [MARK]: 'disabled' } }), home)).toBe(false)
  expect(dependsOnMarks({ spec: {} }, home)).toBe(false)
})

test('a pod that may be captured can be looked at as one that is, and as one that is not', () => {
  const unsure = pod({ labels: AMBIENT, annotations: { [MARK]: 'disabled' } })
  expect(captureOf(ifCaptured(unsure, true), { isMarking: true }).is).toBe('on')
  expect(captureOf(ifCaptured(unsure, false), { labels: AMBIENT, isMarking: true }).is).toBe('off')
})

test('a mark of Istio’s CNI is one of its two values', () => {
  const marked = (value: string) => isMarked(pod({ annotations: { [MARK]: value } }))
  expect(['enabled', 'pending', 'disabled', ''].map(marked)).toEqual([true, true, false, false])
})
