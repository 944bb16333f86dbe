import { expect, test } from 'vitest'
import { concealed, isSecret } from '../../src/workload/secrets.ts'
import { podSpec, workload } from './samples.ts'

test.each([
  ...[
    'DB_PASSWORD',
    'passwd',
    'SSH_PASSPHRASE',
    'AWS_SECRET_ACCESS_KEY',
    'GITHUB_TOKEN',
    'apiKey',
    'API_KEY',
    'SIGNING_KEY',
  ],
  ...['GOOGLE_CREDENTIALS', 'db.password'],
])('%s is a secret', (name) => {
  expect(isSecret(name, 'x')).toBe(true)
})

test.each([
  'COLOUR',
  'KEY',
  'KEYBOARD',
  'MONKEY',
  'PASSWORD_FILE',
  'TOKEN_URL',
  'SECRET_NAME',
  'SSH_PUBLIC_KEY',
  'AWS_ACCESS_KEY_ID',
])('%s is no secret', (name) => {
  expect(isSecret(name, 'x')).toBe(false)
})

test.each([
  ['postgres://user:hush@db/x', true],
  ['postgres://user@db/x', false],
  ['http://db:80/a@b', false],
])('the URL %s: %s', (value, expected) => {
  expect(isSecret('DATABASE_URL', value)).toBe(expected)
})

test('the config decides whatever a variable looks like', () => {
  expect(isSecret('TOKEN', 'x', { TOKEN: false })).toBe(false)
  expect(isSecret('COLOUR', 'x', { COLOUR: true })).toBe(true)
  expect(isSecret('toString', 'x', {})).toBe(false)
})

test('a workload without secrets is as it was', () => {
  const keep = (): string => {
    throw new Error('nothing is to be kept')
  }
  expect(concealed(workload(), 'web', keep)).toEqual(workload())
})

test('variables of containers and of init containers, and Secrets, are kept apart', () => {
  const [container] = podSpec().containers
  const env = [{ name: 'TOKEN', value: 'x' }]
  const prefixes: string[] = []
  concealed(
    workload({
      podSpec: {
        containers: [{ name: 'web', image: 'x', env }],
        initContainers: [{ name: 'init', image: container?.image ?? '', env }],
      },
      secrets: { web: { TOKEN: 'x' } },
    }),
    'web',
    (prefix) => {
      prefixes.push(prefix)
      return prefix
    },
  )
  expect(prefixes).toEqual(['env.web.TOKEN', 'env.init.TOKEN', 'secret.web.TOKEN'])
})
