type Values = {
  readonly image: string
  readonly jujuImage: string
  readonly broker: string
  readonly components: Readonly<Record<string, boolean>>
}

const holds = (condition: string, values: Values): boolean => {
  const [, negated] = /^not \((.*)\)$/.exec(condition) ?? []
  if (negated !== undefined) return !holds(negated, values)
  const [, broker] = /^eq \.Values\.broker "(.*)"$/.exec(condition) ?? []
  if (broker !== undefined) return values.broker === broker
  const [, component = ''] = /^\.Values\.components\.(\w+)$/.exec(condition) ?? []
  const value = values.components[component]
  if (value === undefined) throw new Error(`{{ ${condition} }} is not what this renders`)
  return value
}

/** The conditions that hold or not after an instruction, the innermost last. */
const instructed = (stack: readonly boolean[], instruction: string, values: Values): boolean[] => {
  const outer = stack.slice(0, -1)
  if (instruction === 'end') return outer
  if (instruction === 'else') return [...outer, !stack.at(-1)]
  if (instruction.startsWith('if ')) return [...stack, holds(instruction.slice('if '.length), values)]
  throw new Error(`{{- ${instruction} }} is not what this renders`)
}

/** Renders the little of Helm's language that the chart's templates are made of, and throws for all else. */
export const renderTemplate = (template: string, values: Values, namespace: string): string => {
  let stack: boolean[] = []
  const texts: string[] = []
  for (const line of template.split('\n')) {
    const [, instruction] = /^\{\{- (.*) \}\}$/.exec(line) ?? []
    if (instruction !== undefined) stack = instructed(stack, instruction, values)
    else if (stack.every(Boolean)) texts.push(line)
  }
  const text = texts
    .join('\n')
    .replaceAll('{{ .Release.Namespace }}', namespace)
    .replaceAll('{{ .Values.image }}', values.image)
    .replaceAll('{{ .Values.jujuImage }}', values.jujuImage)
  if (stack.length > 0 || text.includes('{{')) throw new Error(`This is not what this renders:\n${text}`)
  return text
}
