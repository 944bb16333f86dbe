import * as z from 'zod'
import { Method, Port } from '../istio/endpoint.ts'

const Side = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]{0,62})\/[a-z0-9]([-a-z0-9]{0,62})$/, 'expected {namespace}/{application}')

/** A request of which somebody says whether it has to pass. */
export const Expectation = z.strictObject({
  /** Absent for a client outside the mesh. */
  from: Side.optional(),
  to: Side,
  port: Port,
  method: Method.optional(),
  path: z.string().startsWith('/').optional(),
  allowed: z.boolean(),
})
export type Expectation = z.infer<typeof Expectation>
