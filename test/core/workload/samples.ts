import type { PodWorkload } from '../../../src/core/workload/config.ts'
import type { PodSpec } from '../../../src/core/workload/pod-spec.ts'

export const SUBJECT = { namespace: 'shop', application: 'web' }

/** A pod spec with one container that serves on one port and has one variable. */
export const podSpec = (image = 'web:1', variable = 'blue'): PodSpec => ({
  containers: [
    {
      name: 'web',
      image,
      ports: [{ containerPort: 80, name: 'http' }],
      env: [{ name: 'COLOUR', value: variable }],
      resources: { requests: { cpu: '100m' } },
    },
  ],
})

export const workload = (changes: Partial<PodWorkload> = {}): PodWorkload => ({ podSpec: podSpec(), ...changes })

/** The same value of JSON with the keys of every map in the opposite order. */
export const reordered = <T>(value: T): T => {
  if (Array.isArray(value)) return value.map(reordered) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, member]) => [key, reordered(member)])
  return Object.fromEntries(entries.toReversed()) as T
}
