import * as z from 'zod'
import { LeaderSettings } from '../units/leader-settings.ts'
import { Databags } from './relation.ts'

/** Version 0 is the flat keys of the charm libraries; version 1 is the same content as one document. */
export const Version = z.literal([0, 1], 'expected a version that is spoken here: 0 or 1')

export type Version = z.infer<typeof Version>

export const Interface = z.enum(['service_mesh', 'cross_model_mesh', 'cluster', 'k8s-service'])

export type Interface = z.infer<typeof Interface>

/** Config: the versions an application speaks, by interface, to hold it back. @default all that are spoken here */
export const Versions = z.partialRecord(Interface, z.array(Version).min(1, 'expected at least one version'))

export type Versions = z.infer<typeof Versions>

/** The keys of a config that belong to no feature. */
export const commonConfig = {
  /** The application's own settings, for its units to read: they go before its leader's. */
  settings: LeaderSettings.optional(),
  /** What it says in its relations besides their protocols, by endpoint: it goes before what its leader says. */
  databag: Databags.optional(),
  /** Holds the application back to versions of a protocol, by interface. */
  versions: Versions.optional(),
}

/** What a charm's author writes in code, here data: every key is optional. Each feature merges the keys that it adds into this type. */
export interface Config extends z.infer<z.ZodObject<typeof commonConfig>> {}
/** Whoever tells a spec: what a unit tells may be its own effect, and what a person tells only as an echo of another application. */
export type SpecSource = 'unit' | 'person' | 'document'
