import type { Hono } from 'hono'
import { HonoBase } from 'hono/hono-base'
import { LinearRouter } from 'hono/router/linear-router'
import type { BlankEnv, BlankSchema } from 'hono/types'

/** Creates an app of Hono with the one router that a few routes need: its presets bring two more, which are 5 kB of the bundle. */
export const createRouter = (): Hono => new HonoBase<BlankEnv, BlankSchema, '/'>({ router: new LinearRouter() })
