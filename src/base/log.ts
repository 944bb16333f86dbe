export type Log = Record<'info' | 'warn' | 'error', (fields: Record<string, unknown>, message: string) => void>
