import { Argument, type Command } from 'commander'
import type { PolicyView } from '../../ask/views/policies.ts'
import { type RelationView, relationState } from '../../ask/views/relations.ts'
import { areEnrolling } from '../../core/relations/mesh-labels.ts'
import type { Reason } from '../../platform/base/condition.ts'
import { subjectName } from '../../platform/base/subject.ts'
import type { ApplicationView } from '../../serve/http/applications.ts'
import { Failure } from '../failure.ts'
import { parseApplication, type Settings, withServer } from '../options.ts'
import { type Format, isForPeople, printAs, say, type Table } from '../output.ts'

/** Names of what `get` shows: as kubectl has them, also singular and short. */
const NAMES = {
  applications: 'applications',
  application: 'applications',
  apps: 'applications',
  app: 'applications',
  relations: 'relations',
  relation: 'relations',
  rels: 'relations',
  rel: 'relations',
  policies: 'policies',
  policy: 'policies',
  pols: 'policies',
  pol: 'policies',
} as const

export const get = (program: Command): void => {
  program
    .command('get')
    .summary('show applications, relations or policies')
    .addArgument(new Argument('<what>').choices(Object.keys(NAMES)))
    .argument('[application]', 'only of this application')
    .option('-A, --all-namespaces', 'in all namespaces that you may see')
    .option('--all', 'ended relations as well')
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo get relations\n  meshstep get applications -A')
    .action((what: keyof typeof NAMES, name: string | undefined, options: Options, command: Command) =>
      withServer(command, async (settings) =>
        show(
          NAMES[what],
          settings.format,
          options.allNamespaces ? await viewsEverywhere(settings, name) : await viewsOf(settings, name),
          placeOf(settings, name, options),
          options,
        ),
      ),
    )
}

type Options = { readonly allNamespaces?: true; readonly all?: true }

type What = (typeof NAMES)[keyof typeof NAMES]

const NOUNS: Readonly<Record<What, string>> = {
  applications: 'application',
  relations: 'relation',
  policies: 'policy of meshstep',
}

const viewsOf = async ({ server, namespace }: Settings, name: string | undefined): Promise<ApplicationView[]> => {
  if (name === undefined) return await server.get(`/applications/${namespace}`)
  const named = parseApplication(name, namespace)
  return [await server.get(`/applications/${named.namespace}/${named.application}`)]
}

const viewsEverywhere = async ({ server }: Settings, name: string | undefined): Promise<ApplicationView[]> => {
  if (name !== undefined) throw new Failure(`--all-namespaces and ${name}: expected one of them`)
  return await server.getAll('/applications')
}

const placeOf = ({ namespace }: Settings, name: string | undefined, { allNamespaces }: Options): string => {
  if (allNamespaces) return 'in the namespaces that you may see'
  return name === undefined ? `in the namespace ${namespace}` : `of ${name}`
}

const show = (
  what: What,
  format: Format,
  views: ApplicationView[],
  place: string,
  { all, allNamespaces }: Options,
): void => {
  const print = <T>(data: T[], columns: readonly Column<T>[], nameOf: (one: T) => string): void => {
    if (isForPeople(format) && data.length === 0) say(`no ${NOUNS[what]} is known ${place}`)
    else
      printAs(
        format,
        data,
        (shown) => tableOf(columns, shown, format),
        (shown) => shown.map(nameOf),
      )
  }
  if (what === 'applications')
    print(
      views as Row[],
      allNamespaces ? [NAMESPACE, ...APPLICATIONS] : APPLICATIONS,
      (one) => `application/${one.application}`,
    )
  else if (what === 'relations')
    print(
      relationsIn(views).filter(({ ended }) => all || !ended),
      RELATIONS,
      ({ id }) => `relation/${id}`,
    )
  else {
    print(policiesIn(views), POLICIES, ({ name }) => `authorizationpolicy/${name}`)
    const unknown = (views as Row[]).filter(({ policies, problem }) => policies === undefined && problem === undefined)
    if (unknown.length > 0)
      throw new Failure(
        `the policies of ${unknown.map(subjectName).join(', ')} are not known: the server may not list AuthorizationPolicies there`,
        3,
      )
  }
}

type Row = ApplicationView & { readonly problem?: string }

/** A column of a table, which may be there with `-o wide` alone. */
type Column<T> = { readonly title: string; readonly of: (one: T) => string; readonly isWide?: true }

const tableOf = <T>(columns: readonly Column<T>[], data: readonly T[], { kind }: Format): Table => {
  const shown = columns.filter(({ isWide }) => kind === 'wide' || isWide !== true)
  return { titles: shown.map(({ title }) => title), rows: data.map((one) => shown.map((column) => column.of(one))) }
}

const NAMESPACE: Column<Row> = { title: 'NAMESPACE', of: ({ namespace }) => namespace }

const APPLICATIONS: readonly Column<Row>[] = [
  { title: 'NAME', of: ({ application }) => application },
  { title: 'STATUS', of: ({ status, problem }) => (problem === undefined ? status.status : 'unreadable') },
  { title: 'MESH', of: (view) => meshOf(view) },
  { title: 'RELATIONS', of: ({ relations = [] }) => String(relations.filter(({ stands }) => stands).length) },
  { title: 'UNITS', of: ({ units = [] }) => String(units.length), isWide: true },
  { title: 'LEADER', of: ({ leader }) => leader?.unit ?? '', isWide: true },
  { title: 'SAVED', of: ({ saved = '' }) => saved, isWide: true },
  { title: 'MESSAGE', of: (view) => view.problem ?? messageOf(view) },
]

/** Returns the first condition of an application, or the reason why its policies are not known. */
const messageOf = ({ status, policies }: Row): string =>
  status.message || (policies === undefined ? 'its policies are not known: the server may not list them' : '')

const AWAY: readonly Reason[] = ['PodsOffMesh', 'PodsUnlabelled']

/** Tells if an application is on a mesh: `waiting` with labels that its pods do not have yet, or that do not put them there. */
const meshOf = ({ labels = {}, config, conditions = [], runs }: Row): string => {
  if (config?.mesh) return 'beacon'
  if (!areEnrolling(labels)) return 'no'
  return !runs || conditions.some(({ reason }) => AWAY.includes(reason)) ? 'waiting' : 'yes'
}

type Related = Pick<RelationView, 'id' | 'interface' | 'stands' | 'ended' | 'claim'> & {
  readonly provider: string
  readonly requirer: string
}

/** Lists each relation once, from the reports of both sides. */
const relationsIn = (views: readonly ApplicationView[]): Related[] => {
  const byKey = new Map<string, Related>()
  for (const { namespace, application, relations = [] } of views)
    for (const { id, endpoint, interface: name, role, remote, remoteEndpoint, stands, ended, claim } of relations) {
      const own = `${namespace}/${application}:${endpoint}`
      const other = remoteEndpoint === undefined ? remote : `${remote}:${remoteEndpoint}`
      const [provider, requirer] = role === 'provides' ? [own, other] : [other, own]
      const key = `${id} ${[`${namespace}/${application}`, remote].toSorted().join(' ')}`
      const known = byKey.get(key)
      const is = claim ?? known?.claim
      byKey.set(key, {
        ...{ id, interface: name, provider, requirer, stands },
        ...(ended && { ended }),
        ...(is !== undefined && { claim: is }),
      })
    }
  return [...byKey.values()].toSorted((one, other) => one.id - other.id)
}

const RELATIONS: readonly Column<Related>[] = [
  { title: 'ID', of: ({ id }) => String(id) },
  { title: 'INTERFACE', of: (one) => one.interface },
  { title: 'PROVIDER', of: ({ provider }) => provider },
  { title: 'REQUIRER', of: ({ requirer }) => requirer },
  { title: 'STATE', of: relationState },
  { title: 'CLAIM', of: ({ claim = '' }) => claim, isWide: true },
]

const policiesIn = (views: readonly ApplicationView[]): PolicyView[] => {
  const all = views.flatMap(({ policies = [] }) => policies)
  return [...new Map(all.map((policy) => [`${policy.namespace}/${policy.name}`, policy])).values()]
}

const POLICIES: readonly Column<PolicyView>[] = [
  { title: 'NAMESPACE', of: ({ namespace }) => namespace, isWide: true },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'ACTION', of: ({ action }) => action },
  { title: 'TARGET', of: ({ target }) => target },
  { title: 'FROM', of: ({ sources }) => sources.join('\n') || 'nobody' },
  { title: 'REQUESTED BY', of: ({ requestedBy }) => requestedBy.join('\n') },
]
