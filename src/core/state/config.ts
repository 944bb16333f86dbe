import * as z from 'zod'
import { LeaderSettings } from '../units/leader-settings.ts'
import { INTERFACES, type InterfaceName } from './interfaces.ts'
import { Databags } from './relation.ts'

/** A version of the protocol. 0: the flat keys of the charm libraries. 1: the same content as one document. */
export const Version = z.literal([0, 1], 'expected a version that is spoken here: 0 or 1')

export type Version = z.infer<typeof Version>

export const Interface = z.enum(Object.keys(INTERFACES) as InterfaceName[])

export type Interface = z.infer<typeof Interface>

/** The protocol versions that an application supports, by interface. @default all supported ones */
export const Versions = z.partialRecord(Interface, z.array(Version).min(1, 'expected at least one version'))

export type Versions = z.infer<typeof Versions>

/** The keys of a config that belong to no feature. */
export const commonConfig = {
  settings: LeaderSettings.optional(),
  databag: Databags.optional(),
  versions: Versions.optional(),
}

/** The config of an application: settings that a charm's author writes in code. Each feature merges its own keys into this type. */
export interface Config extends z.infer<z.ZodObject<typeof commonConfig>> {}
/** The source of a spec. A unit's spec may be an effect of the spec applied before; a person's may echo another application. */
export type SpecSource = 'unit' | 'person' | 'document'
