/** The fields of pods and containers that people write, to recognize misspelt ones. */
const NAMES = `
activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets initContainers nodeName
nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources
restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup securityContext serviceAccount serviceAccountName
setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations
topologySpreadConstraints volumes
args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy restartPolicyRules
startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts
workingDir
exec failureThreshold grpc httpGet initialDelaySeconds periodSeconds successThreshold tcpSocket timeoutSeconds
host httpHeaders path port scheme service
containerPort hostIP hostPort protocol
value valueFrom configMapKeyRef fieldRef fileKeyRef resourceFieldRef secretKeyRef configMapRef secretRef prefix key optional
mountPath mountPropagation readOnly recursiveReadOnly subPath subPathExpr devicePath
configMap csi downwardAPI emptyDir ephemeral hostPath image nfs persistentVolumeClaim projected secret
defaultMode items medium mode secretName sizeLimit sources claimName
limits requests claims
allowPrivilegeEscalation appArmorProfile capabilities privileged procMount readOnlyRootFilesystem runAsGroup
runAsNonRoot runAsUser seLinuxOptions seccompProfile windowsOptions fsGroup fsGroupChangePolicy
supplementalGroups supplementalGroupsPolicy sysctls
postStart preStop sleep stopSignal
nodeAffinity podAffinity podAntiAffinity effect operator tolerationSeconds
labelSelector maxSkew minDomains topologyKey whenUnsatisfiable
`

export const FIELD_NAMES: readonly string[] = [...new Set(NAMES.trim().split(/\s+/))]

/** The most edits between a misspelt field and a known one. */
const MOST_EDITS = 2

/** The known field nearest to a misspelt one. */
export const nearestField = (name: string, names: readonly string[] = FIELD_NAMES): string | undefined => {
  const wanted = name.toLowerCase()
  const [best] = names
    .map((each) => ({ each, edits: distance(wanted, each.toLowerCase()) }))
    .toSorted((one, other) => one.edits - other.edits)
  // of a short name two letters are most of it
  return best && best.edits <= Math.min(MOST_EDITS, Math.floor(name.length / 3)) ? best.each : undefined
}

/** The edit distance: letters inserted, removed or replaced. See https://en.wikipedia.org/wiki/Levenshtein_distance */
const distance = (one: string, other: string): number => {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1]
    for (const [column, second] of [...other].entries()) {
      const exchanged = Number(previous[column]) + (letter === second ? 0 : 1)
      current.push(Math.min(exchanged, Number(previous[column + 1]) + 1, Number(current[column]) + 1))
    }
    previous = current
  }
  return Number(previous.at(-1))
}
