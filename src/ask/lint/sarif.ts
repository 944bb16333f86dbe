import type { FileFinding } from './files.ts'
import type { Finding } from './finding.ts'
import { RULES } from './rules.ts'

/** Formats findings as SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), which code forges show in a pull request. */
export const sarif = (findings: readonly (Finding | FileFinding)[], version: string): object => {
  const ids = Object.keys(RULES)
  return {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'meshstep',
            version,
            rules: Object.entries(RULES).map(([id, { level, title, meaning, remedy }]) => ({
              id,
              shortDescription: { text: title },
              fullDescription: { text: meaning },
              help: { text: `${meaning} ${remedy}` },
              defaultConfiguration: { level },
            })),
          },
        },
        results: findings.map((finding) => ({
          ruleId: finding.rule,
          ruleIndex: ids.indexOf(finding.rule),
          level: RULES[finding.rule].level,
          message: { text: `${finding.about}: ${finding.message}` },
          locations: [
            {
              ...('file' in finding && {
                physicalLocation: {
                  artifactLocation: { uri: encodeURI(finding.file) },
                  region: { startLine: finding.line },
                },
              }),
              logicalLocations: [{ fullyQualifiedName: finding.about, kind: 'resource' }],
            },
          ],
        })),
      },
    ],
  }
}
