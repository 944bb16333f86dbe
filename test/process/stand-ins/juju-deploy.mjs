// Stands in for `juju deploy` of a local charm to a model of Kubernetes: refuses what Juju refuses, in its words.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'

const UNZIP = `import json, sys, zipfile
charm = zipfile.ZipFile(sys.argv[1])
print(json.dumps({n: charm.read(n).decode() for n in charm.namelist() if n.endswith(".yaml")}))`

const list = { type: 'string', multiple: true, default: [] }
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { resource: list, config: list, trust: { type: 'boolean' } },
})
const [path = '', ...names] = positionals

const refuse = (message) => {
  process.stderr.write(`ERROR ${message}\n`)
  process.exit(1)
}

/** The parts of a charm file, by name. */
const readCharm = () => {
  const { status, stdout } = spawnSync('python3', ['-c', UNZIP, path], { encoding: 'utf8' })
  if (status !== 0) refuse(`${path} is no charm: zip: not a valid zip file`)
  return Object.fromEntries(Object.entries(JSON.parse(stdout)).map(([name, text]) => [name, parse(text)]))
}

const keysOf = (pairs) => pairs.map((pair) => pair.split('=')[0])

if (!/^\.?\//.test(path)) refuse(`${path} is not among the stand-ins: a local charm begins with ./`)
if (!existsSync(path)) refuse(`${path}: file does not exist`)
if (names.length > 1) refuse(`unrecognized args: ${JSON.stringify(names.slice(1))}`)
const { 'metadata.yaml': metadata, 'manifest.yaml': manifest, 'config.yaml': config } = readCharm()
if (metadata === undefined) refuse('archive file "metadata.yaml" not found')
const { containers = {}, resources = {} } = metadata
const bases = manifest?.bases ?? []
if (bases.length === 0 && Object.keys(containers).length === 0) refuse('metadata v2 without manifest.yaml not valid')
if (bases.length === 0) refuse('charm does not define any bases, not valid')
const given = keysOf(values.resource)
const images = Object.keys(resources).filter((name) => resources[name].type === 'oci-image' && !given.includes(name))
if (images.length > 0) refuse(`local charm missing OCI images for: ${images.join(', ')}`)
for (const name of given) if (!(name in resources)) refuse(`unrecognized resource "${name}"`)
for (const name of keysOf(values.config)) if (!(name in (config?.options ?? {}))) refuse(`unknown option "${name}"`)
