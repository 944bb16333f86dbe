import type { Finding } from '../../src/ask/lint/finding.ts'
import type { ApplicationView } from '../../src/serve/http/applications.ts'
import { event, type World } from '../helpers/world.ts'

/** What `GET /applications/shop/{name}` answers. */
export const viewOf = async ({ app }: World, name = 'db'): Promise<ApplicationView> =>
  (await (await app.request(`/applications/shop/${name}`)).json()) as ApplicationView

/** What lint finds in the namespace. */
export const lintOf = async ({ app }: World): Promise<Finding[]> =>
  (await (await app.request('/lint?namespace=shop')).json()) as Finding[]

/** The answer to a config, also to a refused one. */
export const answerTo = async (world: World, data: Record<string, unknown>) => {
  const response = await world.post(event('config-changed', data))
  return { status: response.status, text: await response.text() }
}
