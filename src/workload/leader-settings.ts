import * as z from 'zod'
import { apiVersionOf, type KubernetesObject } from '../kubernetes/objects.ts'
import type { Subject } from '../state.ts'

const A_KEY = 'expected a key: at most 253 letters, digits, - _ and .'

/** The application's own databag: what its leader sets, whole, for every unit to read. */
export const LeaderSettings = z.record(
  z.string().regex(/^(?!\.{1,2}$|\.\.)[-._a-zA-Z0-9]{1,253}$/, A_KEY),
  z.string('expected a string'),
)
export type LeaderSettings = z.infer<typeof LeaderSettings>

export const leaderSettingsName = (application: string): string => `${application}-leader-settings`

/** The ConfigMap by which any pod of the application can read the settings, as files or as variables. */
export const leaderSettingsObject = (
  { namespace, application }: Subject,
  settings: LeaderSettings,
): KubernetesObject => ({
  apiVersion: apiVersionOf('ConfigMap'),
  kind: 'ConfigMap',
  metadata: {
    name: leaderSettingsName(application),
    namespace,
    labels: { 'app.kubernetes.io/name': application, 'app.kubernetes.io/managed-by': 'meshstep' },
  },
  data: { ...settings },
})
