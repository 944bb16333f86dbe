import { RULES } from './rules.ts'

/** The page of docs about all findings, in Markdown. */
export const rulesMarkdown = (): string => `# Findings

Made by \`npm run schemas\`. \`meshstep lint\` names what is probably not meant in a namespace, and \`meshstep lint -f FILE…\` in the AuthorizationPolicies and PeerAuthentications of files and in the \`rawPolicies\` of config documents, without a cluster:
of files nothing is said that depends on one, such as the root namespace. Each finding has an id, which has a section here.

**To allow one** that is meant, name its id in the annotation \`meshstep.dev/allow\` of the object that it is about, or of the Namespace; several are separated by commas, and a reason may follow. In files a comment in the
document does so as well:

\`\`\`yaml
# meshstep: allow selects-all because each pod is to be closed
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
\`\`\`

A finding about an application, and not about an object, is allowed by the Namespace. With \`-o sarif\` findings are SARIF 2.1.0, as forges show them beside a change.

| id | level | what |
| --- | --- | --- |
${Object.entries(RULES)
  .map(([id, { level, title }]) => `| [\`${id}\`](#${id}) | ${level} | ${title} |`)
  .join('\n')}
${Object.entries(RULES)
  .map(([id, { title, meaning, remedy }]) => `\n## ${id}\n\n**${title}.** ${meaning}\n\n${remedy}\n`)
  .join('')}`
