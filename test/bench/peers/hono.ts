import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.post('/', async (context) => context.json(await context.req.json()))
const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server
server.listen(Number(process.env.PORT), () =>
  process.stdout.write(`{"port":${(server.address() as AddressInfo).port}}\n`),
)
