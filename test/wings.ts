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
    holds: '`main.ts`, `local.ts`, `resend-command.ts`, `index.ts`: the programs, and the exports of the npm package',
  },
  { name: 'cli', holds: 'the command `meshstep`: its words, its output, and `npm start`' },
  {
    name: 'serve',
    holds: 'the process, and its answers over HTTP',
    rooms: {
      page: 'the live page and its map; the files of `browser/` are served unchanged, and the command uses their layout and drawing',
      http: 'the server: bodies, errors as answers, settings, dead letters, questions, Kubernetes Events',
      telemetry: 'traces and metrics; a file of its own beside the bundle, loaded where a receiver is named',
      schemas: 'JSON Schemas, and the reference that is generated from them',
    },
  },
  {
    name: 'functions',
    holds: 'beside `src/`: one file for each event, with the schema of its data, and its change of the memory',
  },
  { name: 'features.ts', holds: 'the list of features, and the mesh' },
  {
    name: 'ask',
    holds: 'questions: code that reads, and never writes',
    rooms: {
      propose:
        'documents for traffic that was seen, so that it stays allowed and nothing else is; a file of its own beside the bundle',
      traffic:
        'flows that a Prometheus has seen, and if relations and policies stand for them; a file of its own beside the bundle',
      check: 'a cluster as such: if it has what meshstep needs',
      lint: 'findings: probable mistakes',
      preview: 'plans: the effect of events and documents before they are sent',
      views: 'the answers about applications',
      authorization: 'the decision if a request would pass, and why; expectations',
    },
  },
  {
    name: 'features',
    holds: 'the features that an application may use: keys of its config, and their effects',
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
    holds: 'the step, and its inputs',
    rooms: {
      events: 'the way from an event to a step, and from its outcome to an answer: functions, queue, delivery, resync',
      reconcile: 'the step: one file and one folder for each of its stages',
      workload: 'pod specs and objects of its own; what units change again and again is slowed',
      access: 'the rights of senders and authors',
      feature: 'the contract of a feature and of a mesh, and how features are combined',
      relations:
        'what both sides of a relation make of it: the peers, the data in effect, the labels; what platforms and documents say of it (`told/`), its databags (`databags/`), and the offer and its claim (`offers/`)',
      state: 'the memory: config, relations, the ConfigMap',
      units: 'pods as units, leaders, reports',
      policies: 'requests of one application to another: endpoints and targets, independent of the mesh',
    },
  },
  {
    name: 'embedded',
    holds: 'the Kubernetes API of `npm start` and of the tests; not in the image',
    rooms: {
      demo: 'what stands beside the API: the example, Istio’s part, the event source',
      api: 'HTTP: paths, verbs, bodies, selectors, watches, and the answers',
      workloads: 'the controllers, which make the pods of workloads',
      store: 'objects as they are stored: defaults, addresses, states of pods',
      apply: 'conflicts of applies, and patches',
      validate: 'what is refused: wrong names and types, and what workloads may not change',
      kinds: 'the kinds that are served, and their schemas',
    },
  },
  {
    name: 'platform',
    holds: 'code that knows nothing of meshes',
    rooms: {
      cloudevents: 'CloudEvents over HTTP; events of Knative’s sources (`knative/`)',
      kubernetes: 'the API server: the client, ownership, who holds which field (`managed-fields/`)',
      juju: 'Juju’s own form of a pod spec',
      base: 'the clock, errors, names, order of events, texts, JSON',
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
