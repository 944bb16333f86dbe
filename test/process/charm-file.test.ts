import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { run, temporaryDirectory } from './helpers.ts'
import { deploy, EXAMPLE, hasPython, PYTHON } from './juju.ts'

const JUJU = fileURLToPath(new URL('stand-ins/juju', import.meta.url))
const FILE = './on-the-mesh_amd64.charm'
const IMAGE = ['--resource', 'web-image=registry.example/web:1']

const yaml = (name: string) => parse(readFileSync(`${EXAMPLE}${name}`, 'utf8'))

/** A folder with the packed charm, and a deployment there of a charm file of which `changes` were made in Python. */
const pack = async (changes = '') => {
  const cwd = await temporaryDirectory()
  const { stdout } = await run(PYTHON, ['-B', `${EXAMPLE}pack.py`], { cwd })
  const code = `import json, sys, zipfile
old = zipfile.ZipFile(sys.argv[1])
files = {info.filename: (info, old.read(info)) for info in old.infolist()}
old.close()
${changes}
with zipfile.ZipFile(sys.argv[1], "w") as new:
    for info, content in files.values(): new.writestr(info, content)
print(json.dumps({name: oct(info.external_attr >> 16) for name, (info, _) in files.items()}))`
  const modes = JSON.parse((await run(PYTHON, ['-c', code, FILE], { cwd })).stdout) as Record<string, string>
  const deploy = (...words: string[]) => {
    const { status, stderr } = spawnSync(JUJU, ['deploy', ...words], { cwd, encoding: 'utf8' })
    return [status, stderr.trim()]
  }
  return { cwd, name: stdout.trim(), modes, deploy }
}

describe.skipIf(!hasPython)('a charm file (skipped without python3)', () => {
  test('a charm file has what charmcraft.yaml names, and a manifest with its base', async () => {
    const { name, modes, cwd } = await pack()
    const { parts, base, platforms } = yaml('charmcraft.yaml')
    expect(name).toBe(`${yaml('metadata.yaml').name}_${Object.keys(platforms)[0]}.charm`)
    expect(Object.keys(modes).toSorted()).toEqual([...parts.charm.prime, 'manifest.yaml'].toSorted())
    expect(Object.keys(modes).filter((file) => modes[file] === '0o100755')).toEqual(['dispatch'])
    const { stdout } = await run(PYTHON, ['-m', 'zipfile', '-e', name, 'out'], { cwd }).then(() =>
      run('cat', ['out/manifest.yaml'], { cwd }),
    )
    const [system, channel] = base.split('@')
    expect(parse(stdout)).toEqual({ bases: [{ name: system, channel, architectures: Object.keys(platforms) }] })
  })

  test('a charm file is the same each time', async () => {
    const [one, other] = await Promise.all([pack(), pack()])
    const bytes = ({ cwd }: { cwd: string }) => readFileSync(`${cwd}/${FILE}`)
    expect(bytes(one).equals(bytes(other))).toBe(true)
  })

  test('a charm file can be deployed with its image and its options', async () => {
    const { deploy } = await pack()
    expect(deploy(FILE, 'details', ...IMAGE, '--config', 'meshstep-url=http://meshstep', '--trust')).toEqual([0, ''])
  })

  test.each<[string, string, string[], string]>([
    ['without its image', '', [], 'local charm missing OCI images for: web-image'],
    ['with a resource that it has not', '', [...IMAGE, '--resource', 'cache=x'], 'unrecognized resource "cache"'],
    ['with an option that it has not', '', [...IMAGE, '--config', 'url=x'], 'unknown option "url"'],
    ['without a manifest', 'del files["manifest.yaml"]', IMAGE, 'charm does not define any bases, not valid'],
    [
      'without a manifest and a container',
      'del files["manifest.yaml"]; info, _ = files["metadata.yaml"]; files["metadata.yaml"] = info, b"name: on-the-mesh"',
      [],
      'metadata v2 without manifest.yaml not valid',
    ],
    ['without metadata', 'del files["metadata.yaml"]', IMAGE, 'archive file "metadata.yaml" not found'],
  ])('a charm file %s is refused', async (_, changes, words, reason) => {
    const { deploy } = await pack(changes)
    expect(deploy(FILE, 'details', ...words)).toEqual([1, `ERROR ${reason}`])
  })

  test('a charm file runs as Juju runs it', async () => {
    const { cwd } = await pack()
    await run(PYTHON, ['-m', 'zipfile', '-e', FILE, 'charm'], { cwd })
    const program = `${cwd}/agent.py`
    await writeFile(program, 'import os; os.execv("/bin/sh", ["sh", os.environ["JUJU_CHARM_DIR"] + "/dispatch"])')
    const environment = { JUJU_CHARM_DIR: `${cwd}/charm` }
    const { unit } = await (await deploy({ name: 'details/0', program, environment })).hook('install')
    expect(unit.status).toEqual(['blocked', 'meshstep-url is not set'])
  })

  test('a charm file that was not packed is refused', async () => {
    const { deploy } = await pack()
    expect(deploy('./on-the-mesh.charm', 'details', ...IMAGE)).toEqual([
      1,
      'ERROR ./on-the-mesh.charm: file does not exist',
    ])
  })
})
