import { describe, expect, test } from 'vitest'
import { concealed, isSecret } from '../../../src/core/workload/secrets.ts'
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
  ...['DB_PASS', 'SMTP_PASS', 'RABBITMQ_DEFAULT_PASS', 'MYSQL_PWD', 'LDAP_BIND_PW', 'PASS', 'DB_PASS_2', 'DB_PASS2'],
  ...['dbPass', 'DBPass', 'db-pass', 'db.pwd', 'ADMIN_PASSCODE', 'accountKey', 'MYSQL_ROOT_PASSWORD_1'],
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
  ...['PASSENGER_COUNT', 'COMPASS_URL', 'COMPASS', 'BYPASS', 'BYPASS_CACHE', 'PASS_THROUGH', 'PASSIVE', 'TRESPASS'],
  ...['PWD', 'OLDPWD', 'PW', 'PWDX', 'DB_PASS_FILE', 'DB_PWD_PATH', 'passwordFile', 'tokenUrl', 'NUM_PASSES', 'KEY_2'],
  ...['PASS_HOST_HEADER', 'KEYCLOAK_HOST', 'DONKEY', 'TURNKEY_2', 'SSH_PUBLIC_KEY_1'],
])('%s is no secret', (name) => {
  expect(isSecret(name, 'x')).toBe(false)
})

test.each([
  'postgres://user:hush@db/x',
  'amqp://:hush@mq',
  'jdbc:postgresql://db:5432/x?user=web&password=hush',
  'jdbc:mysql://web:hush@db/x',
  'jdbc:oracle:thin:scott/tiger@db:1521:x',
  'jdbc:sqlserver://db:1433;databaseName=x;user=sa;password=hush;encrypt=true',
  'Server=db;Database=x;User Id=sa;Password=hush;',
  'Driver={MySQL};Server=db;Uid=sa;Pwd=hush',
  'host=db user=web password=hush dbname=x',
  "host=db password='hush hush'",
  'web:hush@tcp(db:3306)/x?parseTime=true',
  'web:hush@unix(/run/mysqld.sock)/x',
  'web:hush@db.example.com:5432/x',
  'web:hush@[fd00::1]/x',
  'one=web:hush@db,two=web:hush@other',
  'DefaultEndpointsProtocol=https;AccountName=x;AccountKey=aHVzaA==',
  'Endpoint=sb://x/;SharedAccessKey=aHVzaA==',
  '-Xmx1g -Djavax.net.ssl.keyStorePassword=hush',
  '--listen=:80 --redis-pass=hush',
  'https://api.example.com/?access_token=hush',
  '{"db": {"user": "web", "password": "hush"}}',
  '--listen :80 --redis-pass hush',
  'mysql -u web -p hush db',
  'mysqldump -u web -phush db',
  'machine db login web password hush',
  'db:\n  user: web\n  password: hush\n',
  'users:\n- name: web\n  "password": \'hush\'',
  'password: |\n  hush',
  '{user: web, password: hush}',
])('the value %s has a secret in it', (value) => {
  expect(isSecret('SETTING', value)).toBe(true)
})

test.each([
  'postgres://user@db/x',
  'postgres://user:$(DB_PASSWORD)@db/x',
  'jdbc:postgresql://db/x?user=web&password=$(DB_PASSWORD)&ssl=true',
  'http://db:80/a@b',
  'jdbc:postgresql://db:5432/x?user=web&ssl=true',
  'jdbc:oracle:thin:@db:1521:x',
  'Server=db;Database=x;Trusted_Connection=yes',
  'host=db user=web dbname=x sslmode=require',
  'host=db password= user=web',
  'mailto:web@example.com',
  'web@example.com',
  'git@github.com:shop/web.git',
  'ssh://git@github.com:22/web',
  'web:1.2@sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865',
  'registry:5000/web:1.2@sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865',
  'npm:web@1.2.3',
  'pkg:npm/web@1.2.3',
  'http://token:8080,http://secret:8080',
  '--password-file=/run/secrets/password --token-path=/x',
  '-Dspring.config.secret-name=web',
  'compass=north;bypass=1;passenger=3',
  'require_password=true&token=no',
  'mkdir -p /data && serve -p 8080 -v',
  '--password-file /run/secrets/password --require-token true',
  'db:\n  password: ""\n  requirePassword: true\n  passwordFile: /x',
  'password:\n  file: /x',
  '{"password": "", "requirePassword": true, "passwordFile": "/x"}',
  '12:30 to 13:00 @ noon',
])('the value %s has no secret in it', (value) => {
  expect(isSecret('SETTING', value)).toBe(false)
})

test('a very long value is looked at in no time that grows with its square', () => {
  for (const piece of [
    'a:b,',
    'a=',
    '"a":',
    '://a:',
    'a:b@',
    '="',
    'jdbc:oracle:x:a/',
    '$(',
    'a',
    '-p',
    '- a: ',
    '--a ',
    '-u a ',
  ])
    expect(isSecret('SETTING', piece.repeat(200_000))).toBeTypeOf('boolean')
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

describe('an argument with a secret in it', () => {
  const concealedArgs = (args: unknown[], more: object = {}) => {
    const kept: string[] = []
    const { podSpec: spec } = concealed(
      workload({ podSpec: { containers: [{ name: 'web', image: 'x', args }] }, ...more }),
      'web',
      (prefix, value) => {
        kept.push(value)
        return prefix
      },
    )
    const [container] = spec.containers
    return { shown: container?.args, env: container?.env, kept }
  }

  test('an argument with a secret in it comes from a variable that the Secret has, from which Kubernetes fills it in', () => {
    expect(concealedArgs(['--port=80', '--password=hush'])).toEqual({
      shown: ['--port=80', '$(MESHSTEP_ARGS_1)'],
      env: [
        {
          name: 'MESHSTEP_ARGS_1',
          valueFrom: { secretKeyRef: { name: 'meshstep-web-secrets', key: 'env.web.MESHSTEP_ARGS_1' } },
        },
      ],
      kept: ['--password=hush'],
    })
  })

  test.each([
    [['--db-password', 'hush'], ['hush']],
    [['-p', 'hush'], ['hush']],
    [['mysql -u web -phush'], ['mysql -u web -phush']],
    [['-p', '8080', '--password', '--verbose', '--token-path', '/x'], []],
    [['--password=$(DB_PASSWORD)', '--token', '$(TOKEN)'], []],
  ])('%j: %j is kept', (args, kept) => {
    expect(concealedArgs(args).kept).toEqual(kept)
  })

  test('an argument with a secret in it stays in clear where the config says so', () => {
    const args = ['--password=hush']
    expect(concealedArgs(args, { secretEnv: { MESHSTEP_ARGS_0: false } })).toEqual({
      shown: args,
      env: undefined,
      kept: [],
    })
  })
})
