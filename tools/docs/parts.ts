/** A part of the documentation: its folder below `docs/`, and its pages elsewhere, in the order in which they are read. */
export type Part = { readonly title: string; readonly folder: string; readonly pages: readonly string[] }

/** The four parts of https://diataxis.fr. Whatever is not here goes by its folder, and else is a guide. */
export const PARTS: readonly Part[] = [
  { title: 'Tutorial', folder: 'tutorial', pages: ['docs/tutorial.md', 'docs/first-steps.md'] },
  {
    title: 'How-to guides',
    folder: 'how-to',
    pages: [
      'docs/how-to/install.md',
      'knative/README.md',
      'docs/operations.md',
      'docs/upgrade.md',
      'docs/juju.md',
      'docs/juju-charm.md',
      'docs/page.md',
      'docs/traffic.md',
      'docs/traces.md',
      'docs/errors.md',
    ],
  },
  {
    title: 'Reference',
    folder: 'reference',
    pages: [
      'docs/commands.md',
      'docs/config.md',
      'docs/events.md',
      'docs/questions.md',
      'docs/lint.md',
      'docs/policies.md',
      'docs/lifecycle.md',
      'docs/cluster.md',
      'CHANGELOG.md',
    ],
  },
  {
    title: 'Explanation',
    folder: 'explanation',
    pages: [
      'docs/concepts.md',
      'docs/promises.md',
      'docs/design.md',
      'docs/explanation/steps.md',
      'docs/explanation/relations.md',
      'docs/explanation/memory.md',
      'docs/explanation/beacon.md',
      'docs/explanation/explain.md',
      'docs/explanation/around.md',
      'docs/performance.md',
      'SECURITY.md',
      'docs/contributing.md',
    ],
  },
]

/** Where what has no place of its own goes. */
const OTHERS = 'how-to'

const folderOf = (page: string): string => {
  const placed = PARTS.find(({ pages }) => pages.includes(page))
  if (placed) return placed.folder
  const [, folder = ''] = /^docs\/([^/]+)\//.exec(page) ?? []
  return PARTS.some((part) => part.folder === folder) ? folder : OTHERS
}

/** Sorts pages into the parts: first those that have a place, then the others by name. */
export const inParts = (pages: readonly string[]): { readonly title: string; readonly pages: readonly string[] }[] =>
  PARTS.map(({ title, folder, pages: placed }) => ({
    title,
    pages: [
      ...placed.filter((page) => pages.includes(page)),
      ...pages.filter((page) => folderOf(page) === folder && !placed.includes(page)).toSorted(),
    ],
  }))
