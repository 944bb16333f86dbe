type Labels = Readonly<Record<string, unknown>>

type LabelSelectorObject = {
  matchLabels?: Labels
  matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[]
}

/** A selector as workloads carry it, `{ matchLabels, matchExpressions }`. */
export const matches = ({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject, labels: Labels): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return labels[key] !== undefined
    if (operator === 'DoesNotExist') return labels[key] === undefined
    return values.includes(String(labels[key] ?? '\0')) === (operator === 'In')
  })
