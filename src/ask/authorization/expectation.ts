import * as z from 'zod'
import { Method, Port } from '../../core/policies/endpoint.ts'
import { ClientName, TargetName } from './side.ts'

/** A request, with the expected result. */
export const Expectation = z.strictObject({
  from: ClientName.optional(),
  to: TargetName,
  port: Port,
  method: Method.optional(),
  path: z.string().regex(/^\//, 'expected a path').optional(),
  allowed: z.boolean(),
})
export type Expectation = z.infer<typeof Expectation>

/** An expectation in an application's own config. `to` defaults to the application itself. */
export const OwnExpectation = z.strictObject({ ...Expectation.shape, to: TargetName.optional() })

/** Lists the expectations in a config that concern its application. Others are left out, because they would tell the application about its neighbours. */
export const expectationsOf = (
  { namespace, application }: { readonly namespace: string; readonly application: string },
  config: { readonly expect?: readonly z.infer<typeof OwnExpectation>[] | undefined } | undefined,
): Expectation[] => {
  const own = `${namespace}/${application}`
  return (config?.expect ?? []).flatMap(({ to = own, from, ...rest }) =>
    to === own || from === own ? [{ ...rest, ...(from !== undefined && { from }), to }] : [],
  )
}
