import { printValue } from '../../platform/base/printed.ts'
import { exposedPorts, ownWorkload, type PodWorkload } from './config.ts'

type Path = readonly (string | number)[]
type Problem = { readonly path: (string | number)[]; readonly message: string }

/**
 * Finds problems that no pod can run with, although the API server accepts them, or refuses them without their place. Remembered configs
 * are not checked, so that old memories stay readable.
 */
export const givenProblems = (config: { readonly workload?: object | null | undefined }): Problem[] => {
  const workload = ownWorkload(config)
  if (workload === undefined) return []
  const { podSpec, strategy, updateStrategy, volumeClaimTemplates } = workload
  return [
    ...Object.entries({ podSpec, strategy, updateStrategy, volumeClaimTemplates }).flatMap(([key, part]) =>
      numberProblems(part, [key]),
    ),
    ...imageProblems(workload),
    ...portProblems(workload),
  ]
}

/** Fields that may be fractions. */
const QUANTITIES = ['limits', 'requests', 'sizeLimit', 'divisor', 'overhead', 'capacity']

/** Fields with 64 bits. All others have 32, and a larger number is truncated silently. */
const LONG = [
  ...['activeDeadlineSeconds', 'expirationSeconds', 'fsGroup', 'runAsGroup', 'runAsUser', 'supplementalGroups'],
  ...['terminationGracePeriodSeconds', 'tolerationSeconds'],
]

const MOST = 2 ** 31 - 1

const numberProblems = (value: unknown, path: Path): Problem[] => {
  if (typeof value === 'number') return numberProblem(value, path)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    QUANTITIES.includes(key) ? [] : numberProblems(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

const numberProblem = (value: number, path: Path): Problem[] => {
  const most = path.some((key) => LONG.includes(String(key))) ? Number.MAX_SAFE_INTEGER : MOST
  const isWhole = Number.isInteger(value) && Math.abs(value) <= most
  return isWhole ? [] : [{ path: [...path], message: `expected an integer of at most ${most}, got ${value}` }]
}

const imageProblems = ({ podSpec }: PodWorkload): Problem[] =>
  (['containers', 'initContainers'] as const).flatMap((list) =>
    (podSpec[list] ?? []).flatMap(({ image }, index) =>
      /\s/.test(image)
        ? [
            {
              path: ['podSpec', list, index, 'image'],
              message: `expected an image without spaces, got ${printValue(image)}`,
            },
          ]
        : [],
    ),
  )

/** Finds repeated ports of a Service. They are unique by number and protocol, and by name. */
const portProblems = (workload: PodWorkload): Problem[] => {
  if (workload.service?.ports === undefined) return []
  const ports = exposedPorts(workload)
  const keys = ports.map(({ port, protocol }) => `${port}/${protocol}`)
  return ports.flatMap(({ name }, index) => {
    const isAgain = keys.indexOf(keys[index] ?? '') < index
    const isNamedAgain = ports.findIndex((other) => other.name === name) < index
    if (!isAgain && !isNamedAgain) return []
    const message = isAgain
      ? `duplicate port ${keys[index]}`
      : `duplicate name ${printValue(name)}: give each port a name of its own`
    return [{ path: ['service', 'ports', index], message }]
  })
}
