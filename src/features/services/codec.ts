import { Port } from '../../core/policies/endpoint.ts'
import type { DatabagValue } from '../../core/relations/databags/databag.ts'
import type { Databag } from '../../core/state/relation.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { printValue } from '../../platform/base/printed.ts'
import { readScalar } from '../../platform/base/structured-text.ts'
import { parseHost } from './host.ts'

/** The address in a databag. `waiting` lists missing keys. */
export type Address = { host: string; port: number } | { waiting: readonly string[] } | { unreadable: string }

/** The keys of the interface, and those of mlops' `k8s_service_info`. */
const FORMS = [
  ['service-name', 'service-port'],
  ['name', 'port'],
] as const

/** Reads the address in the first form that has one. The provider runs in `namespace`. A port is a number, or digits. */
export const readAddress = (databag: Databag, namespace: string): Address => {
  const forms = FORMS.map(([name, port]) => inForm(databag, name, port, namespace))
  const said = forms.find((form) => !('waiting' in form))
  return said ?? { waiting: fewestMissing(forms) }
}

/** Returns the missing keys of the form that lacks the fewest. */
const fewestMissing = (forms: readonly Address[]): readonly string[] => {
  const [fewest = []] = forms
    .flatMap((form) => ('waiting' in form ? [form.waiting] : []))
    .toSorted((one, other) => one.length - other.length)
  return fewest
}

const inForm = (databag: Databag, nameKey: string, portKey: string, namespace: string): Address => {
  const name = readText(databag, nameKey)
  const port = readText(databag, portKey)
  if ('unreadable' in name) return name
  if ('unreadable' in port) return port
  if (name.value === undefined || port.value === undefined)
    return {
      waiting: [...(name.value === undefined ? [nameKey] : []), ...(port.value === undefined ? [portKey] : [])],
    }
  return parseAddress({ key: nameKey, text: name.value, namespace }, { key: portKey, text: port.value })
}

const parseAddress = (
  name: { key: string; text: string; namespace: string },
  port: { key: string; text: string },
): Address => {
  const host = parseHost(name.text, name.namespace)
  if ('problem' in host) return { unreadable: `${name.key}: ${host.problem}` }
  const number = Port.safeParse(port.text)
  if (number.success) return { host: host.host, port: number.data }
  return { unreadable: `${port.key}: expected a port: an integer from 1 to 65535, got ${printValue(port.text)}` }
}

/** Reads a text. An empty value or null counts as absent, as in the charm library. */
const readText = (databag: Databag, key: string): DatabagValue<string> => {
  const raw = ownValue(databag, key)
  if (raw === undefined || raw === null || raw === '') return { value: undefined }
  if (typeof raw !== 'string' && typeof raw !== 'number')
    return { unreadable: `${key}: expected text, got ${printValue(raw)}` }
  const read = readScalar(String(raw))
  if ('unreadable' in read) return { unreadable: `${key}: ${read.unreadable}` }
  return { value: read.value === '' ? undefined : read.value }
}
