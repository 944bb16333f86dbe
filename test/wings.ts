/** A folder of `src/`, or what lies beside one, with the rooms in it from the top to the ground. */
export type Wing = {
  readonly name: string
  readonly holds: string
  readonly rooms?: Readonly<Record<string, string>>
}

/** The wings from the top to the ground: each may import from those below it, and from none above; so may the rooms of one. */
export const WINGS: readonly Wing[] = [
  {
    name: 'entries',
    holds: '`main.ts`, `local.ts`, `resend-command.ts`, `index.ts`: what is started, and what the npm package exports',
  },
  { name: 'cli', holds: 'the command `meshstep`: its words, its output, and `npm start`' },
  {
    name: 'serve',
    holds: 'the process: what it answers over HTTP',
    rooms: {
      page: 'the live page, the map and its layout, which the command draws too; `browser/` is served as it is',
      http: 'the server: bodies, errors as answers, settings, dead letters, questions',
      telemetry: 'traces and metrics; a file of its own beside the bundle, loaded where a receiver is named',
      schemas: 'JSON Schemas and the reference that is made of them',
    },
  },
  {
    name: 'functions',
    holds: 'beside `src/`: one file for each event, with the schema of its data, and what it means for the memory',
  },
  { name: 'features.ts', holds: 'the list of features, and the mesh' },
  {
    name: 'ask',
    holds: 'questions: they read, and never write',
    rooms: {
      lint: 'what is probably not meant',
      preview: 'plans: what events and documents would do',
      views: 'what an application looks like to those who ask',
      authorization: 'would a request pass, and why; expectations',
    },
  },
  {
    name: 'features',
    holds: 'what an application may ask for: keys of its config, and what follows from them',
    rooms: {
      'service-mesh': 'consumers and beacons',
      'coordinated-workers': 'coordinator and workers, and the nginx that their telemetry passes (`nginx/`)',
      services: 'addresses of Services',
    },
  },
  {
    name: 'mesh',
    holds: 'the mesh that runs',
    rooms: { istio: 'AuthorizationPolicies, the waypoint, labels of namespaces' },
  },
  {
    name: 'core',
    holds: 'the step, and what it goes by',
    rooms: {
      events:
        'from an event to a step, and from its outcome to an answer: functions, queue, delivery, resync, feedback',
      reconcile: 'the step: one file and one folder for each of its stages',
      workload: 'pod specs and objects of its own; configs that change for ever (`churn/`)',
      access: 'who may send what, and ask for which effects',
      feature: 'the contract of a feature and of a mesh, and how features are combined',
      relations: 'what platforms and documents say, databags, the data in effect, how far both sides are',
      state: 'what is remembered: config, relations, the ConfigMap, migration',
      units: 'pods as units, leaders, reports',
      policies: 'what one application asks of another: endpoints, targets, requests, in no mesh’s words',
    },
  },
  {
    name: 'embedded',
    holds:
      'the Kubernetes API of `npm start` and of the tests, with its example, Istio’s part and the event source in `demo/`; not in the bundle',
  },
  {
    name: 'platform',
    holds: 'what knows nothing of meshes',
    rooms: {
      cloudevents: 'CloudEvents over HTTP; what Knative’s sources send (`knative/`)',
      kubernetes: 'the API server: the client, server-side apply, ownership',
      base: 'the clock, errors, names, order of events, texts',
    },
  },
]

/** The table of docs/contributing.md. */
export const wingsTable = (): string => {
  const rows = WINGS.flatMap(({ name, holds, rooms = {} }) => [
    `| ${name === 'entries' ? '' : `**\`${name}\`**`} | | ${holds} |`,
    ...Object.entries(rooms).map(([room, what]) => `| | \`${room}/\` | ${what} |`),
  ])
  return ['| wing | room | holds |', '| --- | --- | --- |', ...rows].join('\n')
}
