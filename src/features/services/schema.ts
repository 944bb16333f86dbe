import type * as z from 'zod'
import { type PartsOf, part } from '../../core/state/state.ts'
import { Announced } from './announced.ts'
import { Services } from './provided.ts'

export const servicesConfig = {
  services: Services.optional(),
}

export const servicesState = {
  /** The announcements of Services that are offered to the application. */
  announced: part(Announced.optional(), 'kept', ({ relations }) => Object.keys(relations).length > 0),
}

type ServicesConfig = z.infer<z.ZodObject<typeof servicesConfig>>
type ServicesState = PartsOf<typeof servicesState>

declare module '../../core/state/config.ts' {
  interface Config extends ServicesConfig {}
}
declare module '../../core/state/state.ts' {
  interface State extends ServicesState {}
}
