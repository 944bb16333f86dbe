/** Policies as people write them, and what Istio says to each: its webhook, or before that the schema of the CRD and its CEL rules. */

type Annotations = Record<string, string>

const GATEWAY_API = 'gateway.networking.k8s.io'
const from = (source: unknown) => ({ rules: [{ from: [{ source }] }] })
const to = (operation: unknown) => ({ rules: [{ to: [{ operation }] }] })
const when = (condition: unknown) => ({ rules: [{ when: [condition] }] })
const target = (kind: string, group?: string, more: object = {}) => ({
  targetRefs: [{ ...(group !== undefined && { group }), kind, name: 'x', ...more }],
})
const custom = (rules: unknown, provider: unknown = { name: 'oidc' }) => ({ action: 'CUSTOM', rules, provider })
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const DRY = 'istio.io/dry-run'

export const accepted: [name: string, spec: unknown, annotations?: Annotations][] = [
  ['nothing at all', undefined],
  ['an ALLOW without rules', {}],
  ['an ALLOW of an empty list of rules', { rules: [] }],
  ['a rule that matches everything', { action: 'DENY', rules: [{}] }],
  ['an AUDIT', { action: 'AUDIT', rules: [{}] }],
  ['principals in every form', from({ principals: ['a', 'a*', '*a', '*'], notPrincipals: ['b'] })],
  ['namespaces in every form', from({ namespaces: ['a', 'a*', '*a', '*'], notNamespaces: ['b'] })],
  ['ServiceAccounts', from({ serviceAccounts: ['a', 'b/c'], notServiceAccounts: ['d'] })],
  ['sixteen ServiceAccounts', from({ serviceAccounts: many(16, (index) => `a${index}`) })],
  ['trust domains', from({ trustDomains: ['cluster.local', 'a*', '*a', '*'], notTrustDomains: ['b'] })],
  ['a trust domain beside ServiceAccounts', from({ trustDomains: ['a'], serviceAccounts: ['b'] })],
  ['addresses and blocks', from({ ipBlocks: ['1.2.3.4', '10.0.0.1/8', '::1', 'fd00::/8', '0.0.0.0/0'] })],
  ['addresses behind proxies', from({ remoteIpBlocks: ['1.2.3.4'], notRemoteIpBlocks: ['5.6.7.0/24'] })],
  ['tokens', from({ requestPrincipals: ['*'], notRequestPrincipals: ['a/b'] })],
  ['ports', to({ ports: ['80', '65535', '0', '0080'], notPorts: ['1'] })],
  ['methods that HTTP does not have', to({ methods: ['get', 'M*', '*'], notMethods: ['X'] })],
  ['hosts', to({ hosts: ['a', '*.a', 'a*', '*'], notHosts: ['b'] })],
  ['paths', to({ paths: ['/a', '/a*', '*a', '*', '/a/{*}', '/{**}/b', '/{*}/a/{**}/'], notPaths: ['/b'] })],
  ['an empty list beside one that says something', to({ ports: ['80'], paths: [] })],
  ['a header', when({ key: 'request.headers[x-user]', values: ['a*'] })],
  ['a claim', when({ key: 'request.auth.claims[iss]', notValues: ['a'] })],
  ['a nested claim', when({ key: 'request.auth.claims[a][b]', values: ['a'] })],
  ['metadata of Envoy', when({ key: 'experimental.envoy.filters.a.b[c]', values: ['d'] })],
  ...['source.namespace', 'source.principal', 'request.auth.principal', 'request.auth.audiences'].map(
    (key): [string, unknown] => [`the attribute ${key}`, when({ key, values: ['a'] })],
  ),
  ...['request.auth.presenter', 'connection.sni', 'source.serviceAccount', 'source.trustDomain'].map(
    (key): [string, unknown] => [`the attribute ${key}`, when({ key, values: ['a'] })],
  ),
  ...['source.ip', 'remote.ip', 'destination.ip'].map((key): [string, unknown] => [
    `the attribute ${key}`,
    when({ key, values: ['10.0.0.0/8'] }),
  ]),
  ['the attribute destination.port', when({ key: 'destination.port', values: ['80'] })],
  ['a selector', { selector: { matchLabels: { app: 'db', empty: '' } } }],
  ['a selector without labels', { selector: {} }],
  ['a Service', target('Service')],
  ['a Service of the group core', target('Service', 'core')],
  ['a ServiceEntry', target('ServiceEntry', 'networking.istio.io')],
  ['a Gateway', target('Gateway', GATEWAY_API)],
  ['a GatewayClass', target('GatewayClass', GATEWAY_API)],
  ['the older targetRef', { targetRef: { group: GATEWAY_API, kind: 'Gateway', name: 'x' } }],
  ['sixteen targets', { targetRefs: many(16, (index) => ({ kind: 'Service', name: `s${index}` })) }],
  ['CUSTOM with a provider', custom([{}])],
  [
    'CUSTOM of addresses and paths',
    custom([{ from: [{ source: { ipBlocks: ['1.2.3.4'] } }], to: [{ operation: { paths: ['/a'] } }] }]),
  ],
  ...['true', 'True', 't', '1', 'false', 'F', '0'].map((value): [string, unknown, Annotations] => [
    `a dry run: ${value}`,
    {},
    { [DRY]: value },
  ]),
  ['a dry run of a DENY', { action: 'DENY', rules: [{}] }, { [DRY]: 'true' }],
]

export const refused: [name: string, spec: unknown, message: string, annotations?: Annotations][] = [
  ['a DENY without rules', { action: 'DENY' }, 'spec.rules: expected rules: a DENY without any never matches'],
  ['a DENY of an empty list of rules', { action: 'DENY', rules: [] }, 'spec.rules: expected rules'],
  ['CUSTOM without rules', custom(undefined), 'spec.rules: expected rules: a CUSTOM without any'],
  ['CUSTOM without a provider', { action: 'CUSTOM', rules: [{}] }, 'spec.provider.name: expected the name'],
  ['CUSTOM with a provider of no name', custom([{}], { name: '' }), 'spec.provider.name: expected the name'],
  ['a provider without CUSTOM', { provider: { name: 'oidc' } }, 'CUSTOM action must be set'],
  [
    'CUSTOM of principals',
    custom([{ from: [{ source: { principals: ['a'] } }] }]),
    'source.principals: is not supported with CUSTOM',
  ],
  [
    'CUSTOM of namespaces',
    custom([{ from: [{ source: { notNamespaces: ['a'] } }] }]),
    'source.notNamespaces: is not supported',
  ],
  [
    'CUSTOM of trust domains',
    custom([{ from: [{ source: { trustDomains: ['a'] } }] }]),
    'trustDomains: is not supported',
  ],
  [
    'CUSTOM of tokens',
    custom([{ when: [{ key: 'request.auth.claims[a]', values: ['b'] }] }]),
    'when.0.key: is not supported with CUSTOM',
  ],
  [
    'CUSTOM of a condition on the source',
    custom([{ when: [{ key: 'source.principal', values: ['b'] }] }]),
    'key: is not supported',
  ],
  ['an empty list of sources', { rules: [{ from: [] }] }, 'spec.rules.0.from: expected something in from'],
  [
    'a source that is not there',
    { rules: [{ from: [{}] }] },
    'from.0.source: expected a source with at least one field',
  ],
  ['a source that says nothing', from({}), 'from.0.source: expected a source with at least one field'],
  ['a source of empty lists', from({ principals: [] }), 'expected a source with at least one field'],
  ['an empty list of operations', { rules: [{ to: [] }] }, 'spec.rules.0.to: expected something in to'],
  [
    'an operation that is not there',
    { rules: [{ to: [{}] }] },
    'to.0.operation: expected an operation with at least one field',
  ],
  ['an operation that says nothing', to({}), 'expected an operation with at least one field'],
  ...['principals', 'notPrincipals', 'namespaces', 'notNamespaces', 'requestPrincipals', 'notRequestPrincipals'].map(
    (field): [string, unknown, string] => [
      `an empty value in ${field}`,
      from({ [field]: ['a', ''] }),
      `source.${field}.1: expected`,
    ],
  ),
  ...['ipBlocks', 'notIpBlocks', 'remoteIpBlocks', 'notRemoteIpBlocks'].flatMap((field) =>
    ['', 'ten', '10.0.0.0/33', '10.0.0.0/08', '10.0.0', 'fe80::1%eth0/64', '::/129', '10.0.0.0/8/8'].map(
      (value): [string, unknown, string] => [
        `${JSON.stringify(value)} in ${field}`,
        from({ [field]: ['1.2.3.4', value] }),
        `source.${field}.1: expected an IP address`,
      ],
    ),
  ),
  ...['', '*', 'a*', 'a/b/c', '/a', 'a/', 'a'.repeat(321)].map((value): [string, unknown, string] => [
    `the ServiceAccount ${JSON.stringify(value.slice(0, 9))}`,
    from({ serviceAccounts: [value] }),
    'serviceAccounts.0: expected a ServiceAccount',
  ]),
  [
    'seventeen ServiceAccounts',
    from({ notServiceAccounts: many(17, (index) => `a${index}`) }),
    'expected at most 16 ServiceAccounts',
  ],
  [
    'ServiceAccounts beside namespaces',
    from({ serviceAccounts: ['a'], namespaces: ['b'] }),
    'expected serviceAccounts without principals',
  ],
  [
    'ServiceAccounts beside principals',
    from({ notServiceAccounts: ['a'], notPrincipals: ['b'] }),
    'expected serviceAccounts without',
  ],
  ...['', 'a*b', '*a*', '**', 'a/b'].map((value): [string, unknown, string] => [
    `the trust domain ${JSON.stringify(value)}`,
    from({ trustDomains: [value] }),
    'trustDomains.0: expected a',
  ]),
  ...['', 'abc', '65536', '-1', '+80', '8080-8090', '80.0', ' 80'].flatMap((value) =>
    ['ports', 'notPorts'].map((field): [string, unknown, string] => [
      `${JSON.stringify(value)} in ${field}`,
      to({ [field]: [value] }),
      `operation.${field}.0: expected a port`,
    ]),
  ),
  ['a port that is a number', to({ ports: [80] }), 'operation.ports.0:'],
  ['ports that are no list', to({ ports: '80' }), 'operation.ports:'],
  ...['methods', 'notMethods', 'hosts', 'notHosts'].map((field): [string, unknown, string] => [
    `an empty value in ${field}`,
    to({ [field]: [''] }),
    `operation.${field}.0: expected text`,
  ]),
  ...['', '/{*', '/a{*}', '/{x}', '/{**}/{*}', '/{**}/a/{**}', '/a//{*}', '/a*/{*}', '/{*}*'].flatMap((value) =>
    ['paths', 'notPaths'].map((field): [string, unknown, string] => [
      `the path ${JSON.stringify(value)} in ${field}`,
      to({ [field]: [value] }),
      `operation.${field}.0: expected`,
    ]),
  ),
  ...[
    '',
    'key1',
    'source.ips',
    'destination.labels[a]',
    'destination.name',
    'destination.namespace',
    'constructor',
  ].map((key): [string, unknown, string] => [
    `the attribute ${JSON.stringify(key)}`,
    when({ key, values: ['a'] }),
    'when.0.key: expected an attribute that Istio knows',
  ]),
  ...['request.headers', 'request.headers[]', 'request.headersx', 'request.auth.claims', 'request.headers[a'].map(
    (key): [string, unknown, string] => [
      `the attribute ${key}`,
      when({ key, values: ['a'] }),
      'expected a name in brackets',
    ],
  ),
  ['a condition without a key', when({ values: ['a'] }), 'when.0.key:'],
  ['a condition without values', when({ key: 'source.ip' }), 'when.0: expected values or notValues'],
  ['a condition of empty lists', when({ key: 'source.ip', values: [], notValues: [] }), 'expected values or notValues'],
  ['an empty value in a condition', when({ key: 'request.headers[a]', values: ['b', ''] }), 'values.1: expected text'],
  [
    'a condition on what is no address',
    when({ key: 'source.ip', notValues: ['a'] }),
    'notValues.0: expected an IP address',
  ],
  ['a condition on what is no port', when({ key: 'destination.port', values: ['http'] }), 'values.0: expected a port'],
  [
    'a condition on a ServiceAccount with a wildcard',
    when({ key: 'source.serviceAccount', values: ['*'] }),
    'expected a ServiceAccount',
  ],
  [
    'a condition on a trust domain with two wildcards',
    when({ key: 'source.trustDomain', values: ['*a*'] }),
    'at most one wildcard',
  ],
  [
    'a selector and a target',
    { selector: {}, ...target('Service') },
    'At most one of targetRefs and selector can be set',
  ],
  ['a selector and no targets', { selector: {}, targetRefs: [] }, 'At most one of targetRefs and selector can be set'],
  ['both kinds of target', { targetRef: { kind: 'Service', name: 'x' }, ...target('Service') }, 'At most one of'],
  ['a selector with a wildcard', { selector: { matchLabels: { a: 'b*' } } }, 'no wildcard'],
  [
    'a selector with a wildcard in a key',
    { selector: { matchLabels: { 'a*': 'b' } } },
    'expected a key without a wildcard',
  ],
  ['a selector of an empty key', { selector: { matchLabels: { '': 'b' } } }, 'expected a key'],
  ['a selector of a long value', { selector: { matchLabels: { a: 'b'.repeat(64) } } }, 'at most 63'],
  [
    'seventeen targets',
    { targetRefs: many(17, (index) => ({ kind: 'Service', name: `s${index}` })) },
    'targetRefs: expected at most 16',
  ],
  ['a target without a name', target('Service', '', { name: '' }), 'targetRefs.0.name: expected a name'],
  [
    'a target in another namespace',
    target('Service', '', { namespace: 'bank' }),
    'targetRefs.0.namespace: expected no namespace',
  ],
  ['a target of another kind', target('Deployment', 'apps'), 'targetRefs.0.kind: expected a target of'],
  ['a Gateway of another group', target('Gateway', 'networking.istio.io'), 'expected a target of'],
  ['a Service of another group', target('Service', 'serving.knative.dev'), 'expected a target of'],
  ['513 rules', { rules: many(513, () => ({})) }, 'spec.rules: expected at most 512 rules'],
  [
    '513 sources',
    { rules: [{ from: many(513, () => ({ source: { principals: ['a'] } })) }] },
    'from: expected at most 512',
  ],
  ['a dry run that is neither', {}, 'metadata.annotations.istio.io/dry-run: expected true or false', { [DRY]: 'yes' }],
  ['a dry run of an AUDIT', { action: 'AUDIT' }, 'expected no dry run of AUDIT', { [DRY]: 'true' }],
  ['a dry run of CUSTOM', custom([{}]), 'expected no dry run of CUSTOM', { [DRY]: 'true' }],
  ['an annotation of Istio itself', {}, 'is reserved for Istio', { 'internal.istio.io/parents': 'x' }],
]
