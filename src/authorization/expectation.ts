import * as z from 'zod'
import { Method, Port } from '../policies/endpoint.ts'

const Side = z
  .string()
  .regex(
    /^[a-z0-9]([-a-z0-9]{0,62})\/(gateway\/)?[a-z0-9]([-a-z0-9]{0,62})$/,
    'expected {namespace}/{application} or {namespace}/gateway/{name}',
  )

/** A request of which somebody says whether it has to pass. */
export const Expectation = z.strictObject({
  /** Absent for a client outside the mesh. */
  from: Side.optional(),
  to: Side,
  port: Port,
  method: Method.optional(),
  path: z.string().regex(/^\//, 'expected a path').optional(),
  allowed: z.boolean(),
})
export type Expectation = z.infer<typeof Expectation>

/** An expectation of an application's own config: `to` is itself unless it says otherwise. */
export const OwnExpectation = z.strictObject({ ...Expectation.shape, to: Side.optional() })

/** The expectations in a config that are about its application: of others it learns nothing. */
export const expectationsOf = (
  { namespace, application }: { readonly namespace: string; readonly application: string },
  config: { readonly expect?: readonly z.infer<typeof OwnExpectation>[] | undefined } | undefined,
): Expectation[] => {
  const own = `${namespace}/${application}`
  return (config?.expect ?? []).flatMap(({ to = own, from, ...rest }) =>
    to === own || from === own ? [{ ...rest, ...(from !== undefined && { from }), to }] : [],
  )
}
