import type { Told } from './relating.ts'

/** A button that sends or only plans an event. */
export type Story = { readonly title: string; readonly event: Told; readonly isPlanned: boolean }

const POLICY = { ports: [9080], methods: ['GET'], paths: ['/health', '/details/*'] }

const config = (application: string, given: unknown): Told => ({
  type: 'config-changed',
  subject: `bookinfo/${application}`,
  data: { config: given },
})

const joins = (application: string, id: number): Told => ({
  type: 'relation-changed',
  subject: `bookinfo/${application}`,
  data: {
    relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
    remote: { application: 'beacon', data: {} },
  },
})

const policies = (relation: string) => ({ policies: [{ type: 'app', relation, endpoints: [POLICY] }] })

/** The events of docs/how-to/first-steps.md in their order, for the example in the embedded API. */
export const story: readonly Story[] = [
  { title: 'beacon runs the mesh', event: config('beacon', { mesh: {} }), isPlanned: false },
  { title: 'details says what may be asked of it', event: config('details', policies('details')), isPlanned: false },
  { title: 'details joins the mesh', event: joins('details', 1), isPlanned: false },
  { title: 'productpage joins the mesh', event: joins('productpage', 2), isPlanned: false },
  {
    title: 'details is related to productpage',
    event: {
      type: 'relation-changed',
      subject: 'bookinfo/details',
      data: {
        relation: { id: 3, endpoint: 'details', interface: 'http', role: 'provides' },
        remote: { application: 'productpage', data: {} },
      },
    },
    isPlanned: false,
  },
  { title: 'What would a typo do?', event: config('details', policies('detials')), isPlanned: true },
  {
    title: 'The relation ends',
    event: { type: 'relation-broken', subject: 'bookinfo/details', data: { relation: { id: 3 } } },
    isPlanned: false,
  },
]
