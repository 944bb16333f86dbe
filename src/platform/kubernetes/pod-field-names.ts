/** The fields of pods and containers that people write. They are used to recognize misspelt ones. */
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
