import * as z from 'zod'
import type { DatabagValue } from '../../core/relations/databags/databag.ts'
import type { Databag } from '../../core/state/relation.ts'
import { DNS_LABEL } from '../../platform/base/names.ts'
import { pythonJson } from '../../platform/base/python-json.ts'
import { andThen, check, jsonAt, readKey } from './read.ts'

const text = (what: string) => z.string(`expected ${what}: a string`)
const urls = z.record(z.string(), text('a URL'), 'expected URLs: an object')

const Coordinator = z.object({
  worker_config: text('a config'),
  loki_endpoints: urls.optional(),
  charm_tracing_receivers: urls.optional(),
  workload_tracing_receivers: urls.optional(),
  remote_write_endpoints: z
    .array(z.object({ url: text('a URL') }, 'expected an endpoint: an object'), 'expected endpoints: a list')
    .readonly()
    .optional(),
  worker_ports: z.array(z.int('expected a port: an integer'), 'expected ports: a list').readonly().optional(),
  ca_cert: text('a certificate').optional(),
  server_cert: text('a certificate').optional(),
  s3_tls_ca_chain: text('certificates').optional(),
  privkey_secret_id: text('the id of a secret').optional(),
  worker_labels: z.record(z.string(), text('a value'), 'expected labels: an object').optional(),
})

/** The coordinator's data for a worker application. `worker_config` is empty until a config exists. */
export type CoordinatorData = z.infer<typeof Coordinator>

const A_NAME = 'expected an application: at most 63 lower-case letters, digits and hyphens'
const AN_ADDRESS = 'expected an address: a host name or an IP address'

const Unit = z.object(
  {
    juju_topology: z
      .object(
        {
          application: text('an application').regex(DNS_LABEL, A_NAME),
          unit: text('a unit').max(80, 'expected a unit: at most 80 characters'),
          charm_name: text('a charm').max(253, 'expected a charm: at most 253 characters'),
        },
        'expected the topology: an object',
      )
      .refine(({ application, unit }) => isUnitOf(application, unit), {
        path: ['unit'],
        error: 'expected a unit of its application: its name, a slash and a number',
      }),
    address: text('an address').regex(/^[-.:\w]{1,253}$/, AN_ADDRESS),
  },
  'expected a unit: an object',
)

/** A unit's data for the coordinator. */
export type WorkerUnitData = z.infer<typeof Unit>

const isUnitOf = (application: string, unit: string): boolean =>
  unit.startsWith(`${application}/`) && /^\d+$/.test(unit.slice(application.length + 1))

/** Builds the coordinator's application databag, with a key for each present field, in a fixed order. */
export const coordinatorDatabag = (data: Partial<CoordinatorData>): Record<string, string> =>
  Object.fromEntries(
    (Object.keys(Coordinator.shape) as (keyof CoordinatorData)[])
      .filter((key) => data[key] !== undefined)
      .map((key) => [key, pythonJson(data[key])]),
  )

/** Builds the worker's application databag. It is empty without a role. */
export const workerDatabag = (roles: readonly string[]): Record<string, string> =>
  roles.length === 0 ? {} : { role: pythonJson(roles.join(',')) }

export const workerUnitDatabag = ({ juju_topology, address }: WorkerUnitData): Record<string, string> => {
  const { application, unit, charm_name } = juju_topology
  return { juju_topology: pythonJson({ application, unit, charm_name }), address: pythonJson(address) }
}

/** Reads the coordinator's data. The value is undefined without a config. Unknown keys, including Juju's, are ignored. */
export const readCoordinator = (databag: Databag, name: string): DatabagValue<CoordinatorData> =>
  readModel(databag, Coordinator, ['worker_config'], name)

/** Reads the data of a worker's unit. The value is undefined if the unit has none. */
export const readWorkerUnit = (databag: Databag, name: string): DatabagValue<WorkerUnitData> =>
  readModel(databag, Unit, ['juju_topology', 'address'], name)

/** Reads the roles of a worker application, including meta roles. The value is undefined if none is announced. */
export const readRoles = (databag: Databag, name: string): DatabagValue<string[]> =>
  andThen(readKey(databag, 'role', text('roles, with commas between them'), name), (role) => {
    const roles = role
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
    return { value: roles.length === 0 ? undefined : [...new Set(roles)] }
  })

/** Reads a databag. The value is undefined if none of the `required` keys is present. */
const readModel = <S extends z.ZodRawShape, T>(
  databag: Databag,
  schema: z.ZodType<T> & { shape: S },
  required: readonly (keyof S)[],
  name: string,
): DatabagValue<T> => {
  const values = Object.fromEntries(
    Object.keys(schema.shape).flatMap((key) => {
      const value = jsonAt(databag, key)
      return value === undefined ? [] : [[key, value]]
    }),
  )
  return required.some((key) => Object.hasOwn(values, key)) ? check(values, schema, name) : { value: undefined }
}
