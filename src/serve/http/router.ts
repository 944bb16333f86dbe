import type { Hono } from 'hono'
import { HonoBase } from 'hono/hono-base'
import { LinearRouter } from 'hono/router/linear-router'
import type { BlankEnv, BlankSchema } from 'hono/types'

/** Creates a Hono app with the only router that it needs. Hono's presets add two more routers, 5 kB of the bundle. */
export const createRouter = (): Hono => new HonoBase<BlankEnv, BlankSchema, '/'>({ router: new LinearRouter() })
