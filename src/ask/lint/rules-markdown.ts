import { RULES } from './rules.ts'

/** Writes the Markdown page about all findings. */
export const rulesMarkdown = (): string => `# Findings

\`meshstep lint\` names probable mistakes in a namespace. \`meshstep lint -f FILE…\` needs no cluster: it checks the AuthorizationPolicies and
PeerAuthentications of files, and the \`rawPolicies\` of config documents. It leaves out findings that depend on a cluster, for example on the root namespace.
Each finding has an id, and each id has a section here. \`npm run schemas\` writes this page.

**To allow a finding** that is intended, name its id in the annotation \`meshstep.dev/allow\` of the object, or of the Namespace. Several ids are separated by
commas, and a reason may follow. In files a comment in the document has the same effect:

\`\`\`yaml
# meshstep: allow selects-all because each pod is to be closed
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
\`\`\`

A finding about an application, not about an object, is allowed by the annotation of the Namespace. With \`-o sarif\` findings are SARIF 2.1.0, which code
forges show beside a change.

| id | level | what |
| --- | --- | --- |
${Object.entries(RULES)
  .map(([id, { level, title }]) => `| [\`${id}\`](#${id}) | ${level} | ${title} |`)
  .join('\n')}
${Object.entries(RULES)
  .map(([id, { title, meaning, remedy }]) => `\n## ${id}\n\n**${title}.** ${meaning}\n\n${remedy}\n`)
  .join('')}`
