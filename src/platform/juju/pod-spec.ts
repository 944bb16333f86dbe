import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../base/own-value.ts'

/** Fields of Juju's own form of a pod spec, version 2 or 3. See https://discourse.charmhub.io/t/k8s-spec-v3-changes/2698 */

type Fields = Readonly<Record<string, unknown>>

/** A part without an equivalent in the form of Kubernetes, with the alternative. */
export type Unequal = { readonly path: (string | number)[]; readonly message: string }

/** A workload in the form of Kubernetes, and the problems of its conversion. */
export type Converted = { readonly workload: unknown; readonly problems: readonly Unequal[] }

const OWN_KEYS = ['envConfig', 'imageDetails', 'volumeConfig']

/** Tells if a pod spec is in Juju's form. */
const isJujuForm = (podSpec: unknown): boolean =>
  isRecord(podSpec) &&
  ('version' in podSpec ||
    'kubernetesResources' in podSpec ||
    listOf(podSpec.containers).some((container) => OWN_KEYS.some((key) => key in container)))

/** Converts a workload to the form of Kubernetes. One in that form stays the same. */
export const fromJuju = (workload: Fields): Converted => {
  const { podSpec } = workload
  if (!isRecord(podSpec) || !isJujuForm(podSpec)) return { workload, problems: [] }
  const { version, containers, service, configMaps, kubernetesResources, ...others } = podSpec
  const all = listOf(containers)
  const converted = all.map((container, index) => ({
    ...containerOf(container, index),
    isInit: container.init === true,
  }))
  const resources = fieldsOf(kubernetesResources)
  const { labels, annotations, ...pod } = fieldsOf(resources.pod)
  const volumes = converted.flatMap((one) => one.volumes)
  const initContainers = converted.filter(({ isInit }) => isInit).map(({ container }) => container)
  const files = Object.fromEntries(converted.flatMap((one) => one.configMaps))
  const secrets = secretsOf(resources)
  const isStateful = fieldsOf(workload.deployment).type === 'stateful'
  return {
    workload: {
      ...workload,
      ...serviceOf(fieldsOf(service), isStateful),
      podSpec: {
        containers: converted.filter(({ isInit }) => !isInit).map(({ container }) => container),
        ...(initContainers.length > 0 && { initContainers }),
        ...(volumes.length > 0 && { volumes: uniqueByName(volumes) }),
        ...pod,
      },
      ...((labels ?? annotations) !== undefined && {
        podMetadata: { ...(labels !== undefined && { labels }), ...(annotations !== undefined && { annotations }) },
      }),
      ...((configMaps !== undefined || Object.keys(files).length > 0) && {
        configMaps: { ...fieldsOf(configMaps), ...files },
      }),
      ...(secrets.texts.length > 0 && { secrets: Object.fromEntries(secrets.texts) }),
    },
    problems: [
      ...versionProblems(version),
      ...clashes(converted, fieldsOf(configMaps)),
      ...converted.flatMap((one) => one.problems),
      ...unequal(others, []),
      ...secrets.problems,
      ...unequal(withoutKnown(resources), ['kubernetesResources']),
    ],
  }
}

const versionProblems = (version: unknown): Unequal[] =>
  version === undefined || [2, 3].includes(Number(version))
    ? []
    : [{ path: ['podSpec', 'version'], message: "expected a version of Juju's form, 2 or 3" }]

/** Finds volumes and ConfigMaps with equal names and different contents, because one content would be lost. */
const clashes = (parts: readonly Part[], given: Fields): Unequal[] => {
  const taken = new Map(Object.entries(given).map(([name, data]) => [`ConfigMap ${name}`, data]))
  return parts.flatMap(({ volumes, configMaps }, index) =>
    [
      ...configMaps.map(([name, data]) => [`ConfigMap ${name}`, data] as const),
      ...volumes.map((volume) => [`volume ${String(volume.name)}`, withFiles(volume, configMaps)] as const),
    ].flatMap(([name, content]) => {
      const isFree = !taken.has(name) || isDeepStrictEqual(taken.get(name), content)
      taken.set(name, content)
      const message = `another ${name} has other content: give the volume another name`
      return isFree ? [] : [{ path: ['podSpec', 'containers', index, 'volumeConfig'], message }]
    }),
  )
}

/** Replaces the name of a volume's ConfigMap by its files, because the name is unique to one container. */
const withFiles = (volume: Fields, configMaps: Part['configMaps']): Fields => {
  const source = fieldsOf(volume.configMap)
  const [, files] = configMaps.find(([name]) => name === source.name) ?? []
  return files === undefined ? volume : { ...volume, configMap: { ...source, name: files } }
}

const withoutKnown = ({ pod: _, secrets: _s, ...others }: Fields): Fields => others

type Secrets = { readonly texts: (readonly [string, Fields])[]; readonly problems: Unequal[] }

/** Converts Secrets of texts. Other types have fixed keys, so people have to create them. */
const secretsOf = ({ secrets }: Fields): Secrets => {
  const all = listOf(secrets).map((secret, index) => ({ ...secret, index }) as Fields & { index: number })
  const isPlain = ({ type = 'Opaque' }: Fields) => type === 'Opaque'
  return {
    texts: all.filter(isPlain).map(({ name, data, stringData }) => {
      const decoded = Object.entries(fieldsOf(data)).map(([key, value]) => [key, fromBase64(value)])
      return [String(name), { ...Object.fromEntries(decoded), ...fieldsOf(stringData) }] as const
    }),
    problems: all
      .filter((secret) => !isPlain(secret))
      .map(({ index }) => ({
        path: ['podSpec', 'kubernetesResources', 'secrets', index, 'type'],
        message: "Juju's secrets of another type than Opaque are not made here: make the Secret, and name it",
      })),
  }
}

const fromBase64 = (value: unknown): unknown =>
  typeof value === 'string' ? Buffer.from(value, 'base64').toString() : value

const ACCOUNT = 'rules of an account are not made here: write a Role, and a RoleBinding to the account of the workload'
const APPLY = 'is not made here: apply it with kubectl, or leave it to what installs the application'

const INSTEAD: Readonly<Record<string, string>> = {
  serviceAccount: ACCOUNT,
  serviceAccounts: ACCOUNT,
  services: 'further Services are not made here: apply them with kubectl',
}

const unequal = (fields: Fields, path: string[]): Unequal[] =>
  Object.keys(fields).map((key) => ({
    path: ['podSpec', ...path, key],
    message: `Juju's ${key}: ${INSTEAD[key] ?? APPLY}`,
  }))

type Part = {
  readonly container: Fields
  readonly volumes: Fields[]
  readonly configMaps: [string, Fields][]
  readonly problems: Unequal[]
}

const containerOf = (container: Fields, index: number): Part => {
  const { imageDetails, envConfig, config, volumeConfig, files, kubernetes, init: _, ...others } = container
  const path = ['podSpec', 'containers', index]
  const details = fieldsOf(imageDetails)
  const variables = Object.entries({ ...fieldsOf(config), ...fieldsOf(envConfig) })
  const envFrom = variables.flatMap(([, value]) => sourceOfAll(value) ?? [])
  const env = variables
    .filter(([, value]) => sourceOfAll(value) === undefined)
    .map(([name, value]) => variableOf(name, value))
  const mounted = listOf(volumeConfig ?? files).map((volume) => volumeOf(String(container.name), volume))
  const isPrivate = details.username !== undefined || details.password !== undefined
  return {
    container: {
      ...others,
      ...(others.image === undefined && details.imagePath !== undefined && { image: details.imagePath }),
      ...(env.length > 0 && { env }),
      ...(envFrom.length > 0 && { envFrom }),
      ...(mounted.length > 0 && { volumeMounts: mounted.map(({ mount }) => mount) }),
      ...fieldsOf(kubernetes),
    },
    volumes: mounted.map(({ volume }) => volume),
    configMaps: mounted.flatMap(({ configMap }) => (configMap ? [configMap] : [])),
    problems: isPrivate
      ? [
          {
            path: [...path, 'imageDetails'],
            message:
              "Juju's username and password: make a Secret of the type kubernetes.io/dockerconfigjson, and name it in imagePullSecrets of kubernetesResources.pod",
          },
        ]
      : [],
  }
}

/** Converts a variable: its text, or its source. */
const variableOf = (name: string, value: unknown): Fields => {
  if (!isRecord(value)) return { name, value: typeof value === 'string' ? value : JSON.stringify(value) }
  const field = fieldsOf(value.field)
  const resource = fieldsOf(value.resource)
  const valueFrom = {
    ...(value.secret !== undefined && { secretKeyRef: keyOf(value.secret) }),
    ...(value['config-map'] !== undefined && { configMapKeyRef: keyOf(value['config-map']) }),
    ...(value.field !== undefined && { fieldRef: { fieldPath: field.path } }),
    ...(value.resource !== undefined && {
      resourceFieldRef: { containerName: resource['container-name'], resource: resource.resource },
    }),
  }
  return { name, valueFrom }
}

/** Returns the Secret or ConfigMap whose keys all become variables. */
const sourceOfAll = (value: unknown): Fields | undefined => {
  const { secret, 'config-map': configMap } = fieldsOf(value)
  const { name, key } = fieldsOf(secret ?? configMap)
  if (name === undefined || key !== undefined) return undefined
  return secret === undefined ? { configMapRef: { name } } : { secretRef: { name } }
}

const keyOf = (value: unknown): Fields => {
  const { name, key } = fieldsOf(value)
  return { name, key }
}

type Mounted = { readonly mount: Fields; readonly volume: Fields; readonly configMap?: [string, Fields] }

/** Converts a volume of a container. Its files become a ConfigMap, whose keys have no directories. */
const volumeOf = (container: string, { name, mountPath, files, secret, ...source }: Fields): Mounted => {
  const mount = { name, mountPath }
  const account = fieldsOf(secret)
  if (secret !== undefined) {
    const { name: secretName, files: items, ...others } = account
    return { mount, volume: { name, secret: { secretName, ...(items !== undefined && { items }), ...others } } }
  }
  if (files === undefined) return { mount, volume: { name, ...sourceOf(source) } }
  const texts = filesOf(files)
  const configMap = `${container}-${String(name)}`
  const items = texts.map(({ path, mode }) => ({ key: keyFor(path), path, ...(mode !== undefined && { mode }) }))
  return {
    mount,
    volume: { name, configMap: { name: configMap, items } },
    configMap: [configMap, Object.fromEntries(texts.map(({ path, content }) => [keyFor(path), content]))],
  }
}

const sourceOf = ({ configMap, ...others }: Fields): Fields => {
  if (configMap === undefined) return others
  const { files: items, ...source } = fieldsOf(configMap)
  return { configMap: { ...source, ...(items !== undefined && { items }) } }
}

const keyFor = (path: string): string => path.replaceAll('/', '_')

/** Reads files: a list of paths and contents, or, in version 2, contents by path. */
const filesOf = (files: unknown): { path: string; content: unknown; mode?: unknown }[] =>
  Array.isArray(files)
    ? listOf(files).map(({ path, content, mode }) => ({ path: String(path), content, mode }))
    : Object.entries(fieldsOf(files)).map(([path, content]) => ({ path, content }))

const POLICIES: Readonly<Record<string, string>> = { serial: 'OrderedReady', parallel: 'Parallel' }

const serviceOf = ({ annotations, updateStrategy, scalePolicy }: Fields, isStateful: boolean): Fields => ({
  ...(annotations !== undefined && { service: { annotations } }),
  ...(updateStrategy !== undefined && { [isStateful ? 'updateStrategy' : 'strategy']: updateStrategy }),
  ...(scalePolicy !== undefined && { podManagementPolicy: POLICIES[String(scalePolicy)] ?? scalePolicy }),
})

/** Removes repeated volumes, because containers of a pod may mount the same one. */
const uniqueByName = (volumes: readonly Fields[]): Fields[] => [
  ...new Map(volumes.map((volume) => [volume.name, volume])).values(),
]

const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {})

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isRecord) : [])
